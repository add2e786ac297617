// The groups of conformance cases, each in a file of its own.
#pragma once

#include <vector>

#include "tertulia/store/testing/store_trial.h"

namespace tertulia {

// The session of a case that needs one only.
inline const SessionKey& key() {
  static const SessionKey key = StoreTrial::key();
  return key;
}

void add_commit_cases(std::vector<StoreCase>& cases);
void add_branch_cases(std::vector<StoreCase>& cases);
void add_content_cases(std::vector<StoreCase>& cases);
void add_record_cases(std::vector<StoreCase>& cases);
void add_query_cases(std::vector<StoreCase>& cases);
void add_life_cases(std::vector<StoreCase>& cases);
void add_concurrency_cases(std::vector<StoreCase>& cases);

}  // namespace tertulia
