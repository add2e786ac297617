#include "table_keys.h"

namespace tertulia {

const std::vector<Setting>& model_keys() {
  static const std::vector<Setting> kKeys = {
      Setting::string(
          "provider", "",
          "offline, openai, openai-responses, anthropic or openai-compatible. Not given: told from "
          "the name of the model."),
      Setting::string("model", "", "Its name at the provider."),
      Setting::string("base_url", "", "The provider's address, if not its usual one."),
      Setting::choice(
          "takes", "known", {"known", "text", "images", "files"},
          "Beside text: images, or images and files such as PDF. known: as is known of its name."),
      Setting::secret("key", "The key of the provider."),
      Setting::string("key_env", "", "Or the variable that holds it."),
  };
  return kKeys;
}

const std::vector<Setting>& workflow_keys() {
  static const std::vector<Setting> kKeys = {
      Setting::path("file", "", "The workflow: a TOML file, as `tertulia workflow run` takes it."),
      Setting::string("model", "", "For agents in it that name none; [model] if this is not given."),
  };
  return kKeys;
}

const std::vector<McpKey>& mcp_keys() {
  static const std::vector<McpKey> kKeys = {
      {"command", "a text", "", "The program, started without a shell."},
      {"args", "a list of texts", "[]", "Its arguments."},
      {"env", "a table of texts", "",
       "Its own variables, which are secrets. ${NAME} is taken from the environment."},
      {"pass_env", "a list of texts", "[]", "Names of our variables that it may see."},
      {"directory", "a text", "", "Where it runs."},
      {"url", "a text", "", "Instead of a command: the address of the server."},
      {"headers", "a table of texts", "", "Sent with every request; secrets. ${NAME} as in env."},
      {"timeout", "a duration such as \"30s\"", "\"30s\"",
       "For connecting, and for requests other than tool calls."},
      {"call_timeout", "a duration such as \"30s\"", "",
       "The longest silence of a tool call. Not given: the tool_timeout of the agents that use it."},
      {"max_restarts", "a whole number from 0 to 1000", "5",
       "How often in a row a connection may fail before it is given up."},
      {"tools", "a list of texts", "", "The tools that agents may see. Not given: all."},
      {"trust_annotations", "true or false", "false",
       "Believes tools that call themselves read-only or idempotent."},
      {"roots", "a list of texts", "[]", "Folders that the server is told it may work in."},
  };
  return kKeys;
}

}  // namespace tertulia
