#include "tertulia/base/curl_library.h"

#include <string>

#include <dlfcn.h>

#include "tertulia/base/check.h"

namespace tertulia {
namespace {

Error no_curl(const std::string& problem) {
  return Error(ErrorCode::kBadConfig, "nothing can be asked over HTTP without libcurl 7.85 or later: " +
                                          problem + "; install it (Debian: apt install libcurl4)");
}

std::string last_problem() {
  const char* problem = dlerror();
  return problem == nullptr ? "it cannot be loaded" : problem;
}

class Functions {
 public:
  explicit Functions(void* library) : library_(library) {}

  template <class Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr && problem_.empty()) problem_ = last_problem();
  }

  const std::string& problem() const { return problem_; }

 private:
  void* library_;
  std::string problem_;
};

}  // namespace

Result<CurlLibrary> load_curl(const char* file) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return no_curl(last_problem());
  CurlLibrary curl;
  Functions functions(library);
  functions.find(curl.easy_cleanup, "curl_easy_cleanup");
  functions.find(curl.easy_init, "curl_easy_init");
  functions.find(curl.easy_setopt, "curl_easy_setopt");
  functions.find(curl.easy_strerror, "curl_easy_strerror");
  functions.find(curl.free, "curl_free");
  functions.find(curl.global_init, "curl_global_init");
  functions.find(curl.multi_add_handle, "curl_multi_add_handle");
  functions.find(curl.multi_assign, "curl_multi_assign");
  functions.find(curl.multi_cleanup, "curl_multi_cleanup");
  functions.find(curl.multi_info_read, "curl_multi_info_read");
  functions.find(curl.multi_init, "curl_multi_init");
  functions.find(curl.multi_remove_handle, "curl_multi_remove_handle");
  functions.find(curl.multi_setopt, "curl_multi_setopt");
  functions.find(curl.multi_socket_action, "curl_multi_socket_action");
  functions.find(curl.slist_append, "curl_slist_append");
  functions.find(curl.slist_free_all, "curl_slist_free_all");
  functions.find(curl.url, "curl_url");
  functions.find(curl.url_cleanup, "curl_url_cleanup");
  functions.find(curl.url_get, "curl_url_get");
  functions.find(curl.url_set, "curl_url_set");
  if (!functions.problem().empty()) return no_curl(functions.problem());
  return curl;
}

const Result<CurlLibrary>& loaded_curl() {
  static const Result<CurlLibrary>& loaded = *new Result<CurlLibrary>([]() -> Result<CurlLibrary> {
    Result<CurlLibrary> library = load_curl();
    if (library && library->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
      return no_curl("it could not be started");
    return library;
  }());
  return loaded;
}

const CurlLibrary& curl() {
  const Result<CurlLibrary>& loaded = loaded_curl();
  TERTULIA_CHECK(loaded.ok(), "libcurl is used only where it was loaded");
  return *loaded;
}

}  // namespace tertulia
