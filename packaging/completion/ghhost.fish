complete -c ghhost -f -a '(set -l words (commandline -opc) (commandline -ct)
  set -l found ($words[1] complete -- $words[2..] 2>/dev/null)
  if set -q found[1]; string join \n -- $found; else; __fish_complete_path (commandline -ct); end)'
