#include "crew.h"

#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tertulia/base/last_act.h"

namespace tertulia {
namespace crew_test {

// Closed at the end, as an engine does.
class Closed {
 public:
  explicit Closed(std::shared_ptr<Crew> crew) : crew_(std::move(crew)) {}
  ~Closed() {
    if (crew_) crew_->close(std::chrono::hours(1));
  }
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;
  Crew* operator->() const { return crew_.get(); }
  Crew& operator*() const { return *crew_; }

 private:
  std::shared_ptr<Crew> crew_;
};

TEST(Crew, DoesStepsInTheirOrder) {
  const Closed crew(Crew::make(1, 1));
  std::vector<int> order;
  std::latch done(1);
  crew->post_step([&] {
    for (int i = 0; i < 3; ++i) crew->post_step([&order, i] { order.push_back(i); });
    crew->post_step([&] { done.count_down(); });
  });
  done.wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

TEST(Crew, DoesTheJobOfAStepOnItsThreadAndGoesOnWithWhatItGave) {
  const Closed crew(Crew::make(1, 4));
  std::thread::id step;
  std::thread::id job;
  bool inside = true;
  bool ran_inside = true;
  std::latch done(1);
  crew->post_step([&] {
    step = std::this_thread::get_id();
    crew->post([&] {
          ran_inside = inside;
          job = std::this_thread::get_id();
          done.count_down();
        })
        .value();
    inside = false;
  });
  done.wait();
  EXPECT_EQ(step, job);
  EXPECT_FALSE(ran_inside) << "a job never runs inside of post()";
}

TEST(Crew, TheLastActOfAJobIsFollowedByWhatItPosts) {
  const Closed crew(Crew::make(1, 4));
  for (int i = 0; i < 100; ++i) {
    std::latch done(1);
    crew->post_step([&] {
      crew->post([&] {
            const LastAct last;
            crew->post_step([&] { done.count_down(); });
          })
          .value();
    });
    done.wait();
  }
}

TEST(Crew, StepsGoOnWhileTheJobOfOneBlocks) {
  const Closed crew(Crew::make(1, 4));
  std::latch release(1);
  std::latch ended(1);
  crew->post_step([&] {
    crew->post([&] {
          release.wait();
          ended.count_down();
        })
        .value();
  });
  // Posted by the second of two steps, and by a thread of somebody else: both find a thread.
  std::latch gone_on(2);
  crew->post_step([&] { crew->post_step([&] { gone_on.count_down(); }); });
  crew->post_step([&] { gone_on.count_down(); });
  gone_on.wait();
  release.count_down();
  ended.wait();
}

TEST(Crew, JobsThatAStepAsksForRunAtTheSameTime) {
  constexpr int kJobs = 5;
  const Closed crew(Crew::make(1, kJobs));
  std::latch together(kJobs);
  std::latch ended(kJobs);
  crew->post_step([&] {
    for (int i = 0; i < kJobs; ++i) {
      crew->post([&] {
            together.arrive_and_wait();
            ended.count_down();
          })
          .value();
    }
  });
  ended.wait();
}

TEST(Crew, NeverDoesMoreJobsAtOnceThanItMay) {
  const Closed crew(Crew::make(1, 2));
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  std::latch ended(32);
  for (int i = 0; i < 32; ++i) {
    crew->post_step([&] {
      crew->post([&] {
            const int running = ++now;
            for (int seen = most; seen < running && !most.compare_exchange_weak(seen, running);) continue;
            std::this_thread::yield();
            --now;
            ended.count_down();
          })
          .value();
    });
  }
  ended.wait();
  EXPECT_GE(most, 1);
  EXPECT_LE(most, 2);
}

TEST(Crew, AStepWaitsForNoJobEvenIfAllThreadsForJobsBlock) {
  const Closed crew(Crew::make(1, 2));
  std::latch release(1);
  std::latch ended(6);
  for (int i = 0; i < 6; ++i) {
    crew->post([&] {
          release.wait();
          ended.count_down();
        })
        .value();
  }
  std::latch stepped(1);
  crew->post_step([&] { stepped.count_down(); });
  stepped.wait();
  release.count_down();
  ended.wait();
}

TEST(Crew, StepsAndJobsOfManyThreadsAreAllDone) {
  constexpr int kThreads = 4;
  constexpr int kEach = 2'000;
  const Closed crew(Crew::make(2, 3));
  std::latch ended(kThreads * kEach);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < kEach; ++j) {
        const auto job = [&] { crew->post_step([&] { ended.count_down(); }); };
        if ((i + j) % 3 == 0) {
          crew->post(job).value();
        } else {
          crew->post_step([&crew, job] { crew->post(job).value(); });
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ended.wait();
}

TEST(Crew, DoesWhatWaitsBeforeItEndsAndNothingBehindIt) {
  const std::shared_ptr<Crew> crew = Crew::make(1, 1);
  std::atomic<int> done = 0;
  std::latch release(1);
  for (int i = 0; i < 3; ++i) {
    crew->post([&] {
          release.wait();
          ++done;
        })
        .value();
  }
  crew->post_step([&] {
    ++done;
    release.count_down();
  });
  crew->close(std::chrono::hours(1));
  EXPECT_EQ(done, 4);
  const auto held = std::make_shared<int>(0);
  crew->post_step([held] { ++*held; });
  EXPECT_EQ(held.use_count(), 1) << "dropped";
  EXPECT_EQ(*held, 0);
  EXPECT_EQ(crew->post([] {}).error().code(), ErrorCode::kClosed);
}

TEST(Crew, MayBeClosedByOneOfItsJobs) {
  std::shared_ptr<Crew> crew = Crew::make(1, 2);
  std::latch closed(1);
  crew->post([&] {
        const std::shared_ptr<Crew> last = std::move(crew);
        last->close(std::chrono::hours(1));
        closed.count_down();
      })
      .value();
  closed.wait();
}

}  // namespace crew_test
}  // namespace tertulia
