// The commands of ghhost. A new one is a file of its own, and here a declaration and a line.
#pragma once

#include "cli/command.hpp"

#include <array>

namespace gh::host {

std::unique_ptr<Command> run_command();
std::unique_ptr<Command> resume_command();
std::unique_ptr<Command> export_command();
std::unique_ptr<Command> replay_command();
std::unique_ptr<Command> check_command();
std::unique_ptr<Command> keys_command();
std::unique_ptr<Command> eval_command();
std::unique_ptr<Command> data_check_command();
std::unique_ptr<Command> data_preview_command();
std::unique_ptr<Command> plugins_list_command();
std::unique_ptr<Command> plugins_info_command();
std::unique_ptr<Command> plugins_check_command();
std::unique_ptr<Command> plugins_docs_command();
std::unique_ptr<Command> plugins_lock_command();
std::unique_ptr<Command> plugins_verify_command();
std::unique_ptr<Command> plugins_sign_command();
std::unique_ptr<Command> plugins_search_command();
std::unique_ptr<Command> plugins_install_command();
std::unique_ptr<Command> new_plugin_command();
std::unique_ptr<Command> sdk_command();
std::unique_ptr<Command> complete_command();
std::unique_ptr<Command> report_command();
std::unique_ptr<Command> diff_command();
std::unique_ptr<Command> study_plan_command();
std::unique_ptr<Command> study_run_command();
std::unique_ptr<Command> study_work_command();
std::unique_ptr<Command> study_status_command();
std::unique_ptr<Command> study_submit_command();
std::unique_ptr<Command> version_command();

// In the order of `ghhost --help`.
inline constexpr std::array kCommands = {
    run_command,
    resume_command,
    export_command,
    replay_command,
    check_command,
    keys_command,
    eval_command,
    data_check_command,
    data_preview_command,
    plugins_list_command,
    plugins_info_command,
    plugins_check_command,
    plugins_docs_command,
    plugins_lock_command,
    plugins_verify_command,
    plugins_sign_command,
    plugins_search_command,
    plugins_install_command,
    new_plugin_command,
    sdk_command,
    report_command,
    diff_command,
    study_plan_command,
    study_run_command,
    study_work_command,
    study_status_command,
    study_submit_command,
    complete_command,
    version_command,
};

// Commands of two words stand below their first.
inline constexpr std::array kGroups = {
    Command::About{"data", "Look at the data of a recipe before training on them",
                   "Examples:\n  ghhost data check recipes/shapes.toml\n"
                   "  ghhost data preview recipes/shapes.toml"},
    Command::About{"plugins", "List, describe and check plugins",
                   "Examples:\n  ghhost plugins list\n  ghhost plugins info simclr"},
    Command::About{"study", "Many runs as one; `ghhost study STUDY` is `ghhost study run STUDY`",
                   "Examples:\n  ghhost study plan recipes/paper/figure-01-toy.toml\n"
                   "  ghhost study recipes/paper/figure-01-toy.toml\n"
                   "  ghhost study status studies/figures-1-6-toy --watch"},
};

// The command of a group that is meant where its second word is none of the group's.
struct DefaultCommand {
  const char *group, *command;
};
inline constexpr std::array kDefaults = {DefaultCommand{"study", "run"}};

}  // namespace gh::host
