// libcurl, loaded when something is asked for over HTTP for the first time: a program that asks nobody
// neither links it nor the thirty libraries it needs itself.
#pragma once

#include <curl/curl.h>

#include "tertulia/base/result.h"

namespace tertulia {

// The functions of it that we use. Each has the name it has there, without "curl_".
struct CurlLibrary {
  decltype(&::curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&::curl_easy_init) easy_init = nullptr;
  decltype(&::curl_easy_setopt) easy_setopt = nullptr;
  decltype(&::curl_easy_strerror) easy_strerror = nullptr;
  decltype(&::curl_free) free = nullptr;
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_multi_add_handle) multi_add_handle = nullptr;
  decltype(&::curl_multi_assign) multi_assign = nullptr;
  decltype(&::curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&::curl_multi_info_read) multi_info_read = nullptr;
  decltype(&::curl_multi_init) multi_init = nullptr;
  decltype(&::curl_multi_remove_handle) multi_remove_handle = nullptr;
  decltype(&::curl_multi_setopt) multi_setopt = nullptr;
  decltype(&::curl_multi_socket_action) multi_socket_action = nullptr;
  decltype(&::curl_slist_append) slist_append = nullptr;
  decltype(&::curl_slist_free_all) slist_free_all = nullptr;
  decltype(&::curl_url) url = nullptr;
  decltype(&::curl_url_cleanup) url_cleanup = nullptr;
  decltype(&::curl_url_get) url_get = nullptr;
  decltype(&::curl_url_set) url_set = nullptr;
};

// Loads `file` and never unloads it. kBadConfig, with the package that is to be installed, if it is not there
// or lacks a function.
Result<CurlLibrary> load_curl(const char* file = "libcurl.so.4");

// The library of this process. Loaded and started by the first who asks; what that gave is what the others
// get.
const Result<CurlLibrary>& loaded_curl();

// The same where it is known to be loaded: there is a handle of it.
const CurlLibrary& curl();

}  // namespace tertulia
