# bash takes words apart at "=" and ":": they are put together again, and what it has kept of the last one is left out of answers.
_ghhost() {
  local words=() i word last answer
  for ((i = 1; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]})) && [[ $word == [=:]* || ${COMP_WORDS[i - 1]} == [=:] ]] && ((i > 1)); then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  last=${words[-1]}
  while IFS=$'\t' read -r answer _; do
    [[ $last == *[=:]* ]] && answer=${answer#"${last%"${last##*[=:]}"}"}
    COMPREPLY+=("$answer")
  done < <("${COMP_WORDS[0]}" complete -- "${words[@]}" 2>/dev/null)
  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
complete -o bashdefault -o default -F _ghhost ghhost
