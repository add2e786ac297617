#include "host/ingest_jobs.h"

#include <future>
#include <string>

#include <gtest/gtest.h>

#include "tertulia/model/embedder.h"
#include "tertulia/store/memory_store.h"

#include "host/ingest_record.h"
#include "host/own_session.h"

namespace tertulia {
namespace ingest_jobs_test {

const OwnerId kAna = *OwnerId::parse("ana");

class IngestJobsTest : public ::testing::Test {
 protected:
  ~IngestJobsTest() override { use_document_helper({}); }

  // What reads HTML in these tests: it never ends, or gives a text.
  static void readers_hang() {
    use_document_helper({.program = "/bin/sh", .arguments = {"-c", "while :; do :; done"}});
  }
  static void readers_answer() {
    use_document_helper({.program = "/bin/sh", .arguments = {"-c", "echo The shop opens at nine."}});
  }

  IngestRequest request(std::string_view tenant, std::string source, std::size_t most = kMaxWaitingJobs) {
    const TenantId id = *TenantId::parse(tenant);
    return {.tenant = id,
            .user = kAna,
            .collection = user_collection(id, kAna).value(),
            .document = {std::move(source), DocumentFormat::kHtml, "<p>x"},
            .writer = {.kind = WriterKind::kUser, .name = "ana"},
            .most = most};
  }

  static IngestJob wait_until(IngestJobs& jobs, IngestJob job,
                              const std::function<bool(const IngestJob&)>& enough) {
    while (!enough(job)) {
      std::promise<IngestJob> told;
      jobs.when_changed(job, job.version, [&](IngestJob now) { told.set_value(std::move(now)); });
      job = told.get_future().get();
    }
    return job;
  }
  static IngestJob wait_for_end(IngestJobs& jobs, const IngestJob& job) {
    return wait_until(jobs, job, [](const IngestJob& now) { return now.ended(); });
  }
  static IngestJob wait_for_begin(IngestJobs& jobs, const IngestJob& job) {
    return wait_until(jobs, job, [](const IngestJob& now) { return now.status != JobStatus::kQueued; });
  }

  std::unique_ptr<Store> store_ = open_memory_store();
  SemanticMemory memory_{*store_, real_env(), static_embedder()};
};

TEST_F(IngestJobsTest, OneTenantDoesNotWaitForAnother) {
  readers_hang();
  IngestJobs jobs(memory_, *store_, real_env());
  const IngestJob stuck = jobs.submit(request("evil", "bomb")).value();
  const IngestJob behind = jobs.submit(request("evil", "second")).value();
  wait_for_begin(jobs, stuck);
  readers_answer();
  const IngestJob other = jobs.submit(request("shop", "hours")).value();
  EXPECT_EQ(wait_for_end(jobs, other).status, JobStatus::kDone);
  const TenantId evil = *TenantId::parse("evil");
  EXPECT_EQ(jobs.find(evil, kAna, behind.id)->status, JobStatus::kQueued) << "a tenant has one lane";
  ASSERT_TRUE(jobs.cancel(evil, kAna, stuck.id));
  EXPECT_EQ(wait_for_end(jobs, stuck).status, JobStatus::kCancelled) << "while it is being read";
  EXPECT_EQ(wait_for_end(jobs, behind).status, JobStatus::kDone);
}

TEST_F(IngestJobsTest, StoppingEndsWhatIsReadAndDoesNotCountAgainstIt) {
  readers_hang();
  IngestJob job;
  for (int round = 0; round < 4; ++round) {
    IngestJobs jobs(memory_, *store_, real_env());
    if (round == 0) job = jobs.submit(request("shop", "hours")).value();
    wait_for_begin(jobs, jobs.find(*TenantId::parse("shop"), kAna, job.id).value());
  }
  readers_answer();
  IngestJobs jobs(memory_, *store_, real_env());
  const IngestJob now = jobs.find(*TenantId::parse("shop"), kAna, job.id).value();
  EXPECT_EQ(wait_for_end(jobs, now).status, JobStatus::kDone);
}

TEST_F(IngestJobsTest, ADocumentThatTookTheProcessWithItTwiceIsNotTriedAgain) {
  readers_answer();
  const TenantId shop = *TenantId::parse("shop");
  const SessionKey key = ingest_session(shop, kAna);
  ASSERT_TRUE(put_own_session(*store_, key, Time{}));
  IngestJob job{.id = UuidMaker(real_env().clock(), real_env().random()).make().text(),
                .collection = user_collection(shop, kAna).value(),
                .source = "bomb",
                .format = DocumentFormat::kHtml,
                .writer = {.kind = WriterKind::kUser, .name = "ana"},
                .attempts = kMaxAttempts};
  Note noted{.key = key, .conditions = {}, .changes = {}};
  noted.changes.emplace_back(AddRecord{
      {.stream = bytes_stream(job.id), .number = 1, .key = job.id, .name = "html", .payload = "<p>"}});
  noted.changes.emplace_back(AddRecord{{.stream = pending_stream(job.id),
                                        .number = 1,
                                        .key = job.id,
                                        .name = std::string(kPendingName),
                                        .payload = to_text(job)}});
  ASSERT_TRUE(note(*store_, std::move(noted)));
  IngestJobs jobs(memory_, *store_, real_env());
  const IngestJob end = wait_for_end(jobs, jobs.find(shop, kAna, job.id).value());
  EXPECT_EQ(end.status, JobStatus::kFailed);
  EXPECT_NE(end.error_message.find("2 times"), std::string::npos) << end.error_message;
}

TEST_F(IngestJobsTest, AVisitorMayHaveAFewUnderWay) {
  readers_hang();
  IngestJobs jobs(memory_, *store_, real_env());
  for (std::size_t i = 0; i < kMaxVisitorJobs; ++i) {
    ASSERT_TRUE(jobs.submit(request("shop", "page" + std::to_string(i), kMaxVisitorJobs)));
  }
  const Result<IngestJob> more = jobs.submit(request("shop", "more", kMaxVisitorJobs));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), ErrorCode::kQueueFull);
  EXPECT_TRUE(jobs.submit(request("shop", "of another limit")));
}

}  // namespace ingest_jobs_test
}  // namespace tertulia
