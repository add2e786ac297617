// tertulia completion: what a shell needs in order to complete commands and flags.
#include <string>
#include <vector>

#include "commands.h"

namespace tertulia::cli {
namespace {

// One command: its words after the program's name, and what may follow them.
struct Entry {
  std::string path;  // "", "config", "config explain"
  std::vector<std::string> words;
};

void collect(const CLI::App& app, const std::string& path, std::vector<Entry>& entries) {
  Entry entry{path, {}};
  const auto add_options = [&](const CLI::App& owner) {
    for (const CLI::Option* option : owner.get_options()) {
      for (const std::string& name : option->get_lnames()) entry.words.push_back("--" + name);
    }
  };
  add_options(app);
  for (const CLI::App* up = app.get_parent(); up != nullptr; up = up->get_parent()) add_options(*up);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    entry.words.push_back(command->get_name());
    collect(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), entries);
  }
  entries.push_back(std::move(entry));
}

std::string words_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string bash_script(const std::vector<Entry>& entries) {
  std::string cases;
  for (const Entry& entry : entries)
    cases += "    '" + entry.path + "') words='" + words_of(entry.words) + "' ;;\n";
  return "_tertulia() {\n"
         "  local word path='' words=''\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    case $word in -*) ;; *) path=\"${path:+$path }$word\" ;; esac\n"
         "  done\n"
         "  case $path in\n" +
         cases +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "}\n"
         "complete -o filenames -F _tertulia tertulia\n";
}

std::string zsh_script(const std::vector<Entry>& entries) {
  return "autoload -Uz bashcompinit && bashcompinit\n" + bash_script(entries);
}

std::string fish_script(const std::vector<Entry>& entries) {
  std::string script;
  for (const Entry& entry : entries) {
    std::string condition = entry.path.empty() ? "__fish_use_subcommand" : "";
    std::size_t begin = 0;
    while (!entry.path.empty() && begin <= entry.path.size()) {
      const std::size_t end = std::min(entry.path.find(' ', begin), entry.path.size());
      condition += (condition.empty() ? "" : "; and ") + std::string("__fish_seen_subcommand_from ") +
                   entry.path.substr(begin, end - begin);
      begin = end + 1;
    }
    script += "complete -c tertulia -n '" + condition + "' -a '" + words_of(entry.words) + "'\n";
  }
  return script;
}

}  // namespace

void add_completion(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("completion", "Print the completion script for a shell");
  command->footer("For bash: source <(tertulia completion bash)");
  command->require_subcommand(1);
  using Script = std::string (*)(const std::vector<Entry>&);
  for (const auto& [shell, script] :
       {std::pair<std::string, Script>{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}}) {
    command->add_subcommand(shell, "For " + shell)->callback([&app, &context, write = script] {
      std::vector<Entry> entries;
      collect(app, "", entries);
      context.out.print(write(entries));
    });
  }
}

}  // namespace tertulia::cli
