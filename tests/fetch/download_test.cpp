// Downloads from a server that cuts, lies, changes its mind and is busy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>

#include "core/hash.h"
#include "tests/fetch/support.h"

namespace natsl::fetch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class DownloadTest : public ::testing::Test {
 protected:
  tasks::Manifest Known(const std::string& content) {
    tasks::Manifest toy = Toy(server_.url());
    toy.files[0].sha256 = core::Sha256Hex(content);
    return toy;
  }
  FetchResult One(const tasks::Manifest& manifest, const FetchOptions& options) {
    said_.clear();
    return Fetch(manifest, options, &said_).front();
  }
  FetchResult One(const tasks::Manifest& manifest) { return One(manifest, Options(folder_)); }
  std::string RangeOf(size_t request) const {
    const auto seen = server_.Seen("/a.txt");
    const auto range = seen.at(request).headers.find("range");
    return range == seen.at(request).headers.end() ? "" : range->second;
  }

  TemporaryFolder folder_;
  FileServer server_;
  std::string said_;
  const std::string content_ = Text(200'000);
};

TEST_F(DownloadTest, ARightFileIsFetchedOnce) {
  server_.On("/a.txt", [&](const SeenRequest& r, int) { return Serve(r, content_); });
  const FetchResult first = One(Known(content_));
  EXPECT_EQ(first.state, FetchState::kFetched);
  EXPECT_EQ(first.detail, server_.url() + "/a.txt");
  EXPECT_EQ(folder_.Read("data/toy/a.txt"), content_);
  EXPECT_THAT(folder_.Files(), ElementsAre("data/toy/a.txt"));
  EXPECT_FALSE(folder_.Has("data/data.lock")) << "its hash was known";
  EXPECT_EQ(One(Known(content_)).state, FetchState::kPresent);
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(DownloadTest, ACutBodyIsGoneOnWith) {
  server_.On("/a.txt", [&](const SeenRequest& r, int before) {
    return before < 3 ? Cut(r, content_, 50'000) : Serve(r, content_);
  });
  EXPECT_EQ(One(Known(content_)).state, FetchState::kFetched);
  EXPECT_EQ(folder_.Read("data/toy/a.txt"), content_);
  ASSERT_EQ(server_.seen().size(), 4U);
  EXPECT_EQ(RangeOf(0), "");
  EXPECT_EQ(RangeOf(1), "bytes=50000-");
  EXPECT_EQ(RangeOf(3), "bytes=150000-");
  EXPECT_EQ(server_.seen()[1].headers.at("if-range"), "\"v1\"");
  EXPECT_THAT(said_, HasSubstr("again in"));
}

TEST_F(DownloadTest, AServerThatIgnoresRangesSendsItWhole) {
  server_.On("/a.txt", [&](const SeenRequest& r, int before) {
    SeenRequest plain = r;
    plain.headers.erase("range");
    return before == 0 ? Cut(plain, content_, 70'000) : Serve(plain, content_);
  });
  EXPECT_EQ(One(Known(content_)).state, FetchState::kFetched);
  EXPECT_EQ(RangeOf(1), "bytes=70000-");
  EXPECT_EQ(folder_.Read("data/toy/a.txt"), content_);
}

TEST_F(DownloadTest, AChangedFileIsNotSpliced) {
  const std::string next = Text(200'000, "new");
  server_.On("/a.txt", [&](const SeenRequest& r, int before) {
    return before == 0 ? Cut(r, content_, 70'000) : Serve(r, next, "\"v2\"");
  });
  // Nobody knows its hash: only the tags tell.
  EXPECT_EQ(One(Toy(server_.url())).state, FetchState::kFetched);
  EXPECT_EQ(folder_.Read("data/toy/a.txt"), next);
}

TEST_F(DownloadTest, AChangedFileIsNotSplicedWhereTheServerWould) {
  const std::string next = Text(200'000, "new");
  server_.On("/a.txt", [&](const SeenRequest& r, int before) {
    if (before == 0) return Cut(r, content_, 70'000);
    SeenRequest careless = r;  // If-Range is not looked at
    careless.headers.erase("if-range");
    return Serve(careless, next, "\"v2\"");
  });
  EXPECT_EQ(One(Toy(server_.url())).state, FetchState::kFetched);
  EXPECT_EQ(folder_.Read("data/toy/a.txt"), next);
  EXPECT_EQ(RangeOf(1), "bytes=70000-");
  EXPECT_EQ(RangeOf(2), "");
}

TEST_F(DownloadTest, WithoutATagNothingIsGoneOnWith) {
  server_.On("/a.txt", [&](const SeenRequest& r, int before) {
    return before == 0 ? Cut(r, content_, 70'000, "W/\"weak\"") : Serve(r, content_, "W/\"weak\"");
  });
  EXPECT_EQ(One(Toy(server_.url())).state, FetchState::kFetched);
  EXPECT_EQ(RangeOf(1), "");
  EXPECT_EQ(folder_.Read("data/toy/a.txt"), content_);
}

TEST_F(DownloadTest, ASpliceIsFoundByItsHashAndFetchedWhole) {
  const std::string other = Text(200'000, "new");
  server_.On("/a.txt", [&](const SeenRequest& r, int before) {
    // The same tag for other bytes.
    if (before == 0) return Cut(r, other, 70'000);
    return Serve(r, content_);
  });
  EXPECT_EQ(One(Known(content_)).state, FetchState::kFetched);
  EXPECT_EQ(folder_.Read("data/toy/a.txt"), content_);
  EXPECT_EQ(RangeOf(1), "bytes=70000-");
  EXPECT_EQ(RangeOf(2), "");
}

TEST_F(DownloadTest, AnotherPartThanAskedForIsRefused) {
  server_.On("/a.txt", [&](const SeenRequest& r, int before) {
    if (before == 0) return Cut(r, content_, 70'000);
    if (before == 1) {
      return Reply(206, content_.substr(60'000),
                   fmt::format("Content-Range: bytes 60000-{}/{}\r\n", content_.size() - 1,
                               content_.size()));
    }
    return Serve(r, content_);
  });
  EXPECT_EQ(One(Known(content_)).state, FetchState::kFetched);
  EXPECT_EQ(folder_.Read("data/toy/a.txt"), content_);
}

TEST_F(DownloadTest, ALengthThatNeverComesIsAFailure) {
  server_.On("/a.txt", [&](const SeenRequest& r, int) {
    SeenRequest plain = r;
    plain.headers.erase("range");
    return Cut(plain, content_, 1000);
  });
  const FetchResult result = One(Known(content_));
  EXPECT_EQ(result.state, FetchState::kFailed);
  EXPECT_THAT(result.detail, HasSubstr("attempts"));
  EXPECT_EQ(server_.seen().size(), 4U);
  EXPECT_FALSE(folder_.Has("data/toy/a.txt"));
}

TEST_F(DownloadTest, ALengthThatIsWrongFromTheStartIsAFailure) {
  server_.On("/a.txt", [&](const SeenRequest& r, int) { return Serve(r, content_); });
  tasks::Manifest toy = Known(content_);
  toy.files[0].bytes = 200'001;
  const FetchResult result = One(toy);
  EXPECT_EQ(result.state, FetchState::kFailed);
  EXPECT_THAT(result.detail, HasSubstr("the server has 200000 bytes, expected 200001"));
  EXPECT_EQ(server_.seen().size(), 1U);
  EXPECT_THAT(folder_.Files(), IsEmpty());
}

TEST_F(DownloadTest, ATooShortLengthIsFoundByTheHash) {
  server_.On("/a.txt", [&](const SeenRequest&, int) {
    RawAnswer answer = Reply(200, content_.substr(0, 1000));
    answer.bytes += content_.substr(1000);  // more than it said
    answer.close = true;
    return answer;
  });
  const FetchResult result = One(Known(content_));
  EXPECT_EQ(result.state, FetchState::kFailed);
  EXPECT_THAT(result.detail, HasSubstr(core::Sha256Hex(content_.substr(0, 1000))));
}

TEST_F(DownloadTest, AnEndlessBodyEndsAtTheKnownSize) {
  server_.On("/a.txt", [&](const SeenRequest&, int) {
    RawAnswer answer{"HTTP/1.1 200 OK\r\n\r\n" + Text(300'000)};
    answer.close = true;
    return answer;
  });
  tasks::Manifest toy = Known(content_);
  toy.files[0].bytes = 200'000;
  const FetchResult result = One(toy);
  EXPECT_EQ(result.state, FetchState::kFailed);
  EXPECT_THAT(result.detail, HasSubstr("sends more than 200000 bytes"));
}

TEST_F(DownloadTest, WithoutLengthAndHashACutCannotBeTold) {
  server_.On("/a.txt", [&](const SeenRequest&, int) {
    RawAnswer answer{"HTTP/1.1 200 OK\r\n\r\n" + content_};
    answer.close = true;
    return answer;
  });
  EXPECT_THAT(One(Toy(server_.url())).detail, HasSubstr("couldn't be told from a whole one"));
  EXPECT_EQ(One(Known(content_)).state, FetchState::kFetched);
}

TEST_F(DownloadTest, ChunksAreALength) {
  server_.On("/a.txt", [&](const SeenRequest&, int before) {
    RawAnswer answer{
        fmt::format("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n", 1000,
                    content_.substr(0, 1000))};
    if (before > 0) answer.bytes += "0\r\n\r\n";
    answer.close = before == 0;
    return answer;
  });
  EXPECT_EQ(One(Toy(server_.url())).state, FetchState::kFetched);
  EXPECT_EQ(folder_.Read("data/toy/a.txt"), content_.substr(0, 1000));
  EXPECT_EQ(server_.seen().size(), 2U);
}

TEST_F(DownloadTest, WrongBytesAreTurnedAwayWithBothHashes) {
  const std::string wrong = Text(200'000, "wrong");
  server_.On("/a.txt", [&](const SeenRequest& r, int) { return Serve(r, wrong); });
  const FetchResult result = One(Known(content_));
  EXPECT_EQ(result.state, FetchState::kFailed);
  EXPECT_THAT(result.detail, HasSubstr(core::Sha256Hex(wrong)));
  EXPECT_THAT(result.detail, HasSubstr(core::Sha256Hex(content_)));
  EXPECT_THAT(folder_.Files(), IsEmpty()) << "neither the file nor a part of it stays";
}

TEST_F(DownloadTest, BusyAndBrokenServersAreAskedAgain) {
  server_.On("/a.txt", [&](const SeenRequest& r, int before) {
    if (before == 0) return Reply(429, "slow down", "Retry-After: 1\r\n");
    if (before == 1) return Reply(500, "oops");
    if (before == 2) return RawAnswer{"", true};
    return Serve(r, content_);
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(One(Known(content_)).state, FetchState::kFetched);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  EXPECT_THAT(said_, HasSubstr("HTTP 429; again in 1.0 s"));
  EXPECT_THAT(said_, HasSubstr("HTTP 500"));
  EXPECT_EQ(server_.seen().size(), 4U);
}

TEST_F(DownloadTest, AWaitBeyondTheBudgetIsAFailure) {
  server_.On("/a.txt",
             [](const SeenRequest&, int) { return Reply(429, "", "Retry-After: 86400\r\n"); });
  EXPECT_THAT(One(Known(content_)).detail, HasSubstr("the server asks to wait 86400 s"));
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(DownloadTest, WhatIsNotThereIsAskedForOnce) {
  const FetchResult result = One(Known(content_));
  EXPECT_EQ(result.state, FetchState::kFailed);
  EXPECT_EQ(result.detail, server_.url() + "/a.txt: HTTP 404");
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(DownloadTest, ALaterRunGoesOnWhereAnEarlierOneStopped) {
  server_.On("/a.txt", [&](const SeenRequest& r, int before) {
    return before < 1   ? Cut(r, content_, 120'000)
           : before < 5 ? Reply(503, "")
                        : Serve(r, content_);
  });
  EXPECT_EQ(One(Toy(server_.url())).state, FetchState::kFailed);
  EXPECT_THAT(folder_.Files(), ElementsAre("data/toy/.part-a.txt", "data/toy/.part-a.txt.json"));
  const size_t before = server_.seen().size();
  EXPECT_EQ(One(Toy(server_.url())).state, FetchState::kFetched);
  EXPECT_EQ(RangeOf(before), "bytes=120000-");
  EXPECT_EQ(folder_.Read("data/toy/a.txt"), content_);
  EXPECT_THAT(folder_.Files(), ElementsAre("data/toy/a.txt"));
}

TEST_F(DownloadTest, AWholePartialFileNeedsNoRequest) {
  server_.On("/a.txt", [&](const SeenRequest& r, int) { return Serve(r, content_); });
  folder_.Write("data/toy/.part-a.txt", content_);
  folder_.Write("data/toy/.part-a.txt.json",
                fmt::format(R"({{"url": "{}/a.txt", "validator": "\"v1\"", "total": 200000}})",
                            server_.url()));
  EXPECT_EQ(One(Known(content_)).state, FetchState::kFetched);
  EXPECT_THAT(server_.seen(), IsEmpty());
}

TEST_F(DownloadTest, APartialFileOfAnotherAddressOrLongerThanAllIsStartedAnew) {
  server_.On("/a.txt", [&](const SeenRequest& r, int) { return Serve(r, content_); });
  folder_.Write("data/toy/.part-a.txt", "rubbish");
  EXPECT_EQ(One(Known(content_)).state, FetchState::kFetched);
  EXPECT_EQ(RangeOf(0), "");
  std::filesystem::remove(folder_.path() / "data/toy/a.txt");
  folder_.Write("data/toy/.part-a.txt", content_ + "more");
  folder_.Write(
      "data/toy/.part-a.txt.json",
      fmt::format(R"({{"url": "{}/a.txt", "validator": "\"v1\"", "total": null}})", server_.url()));
  EXPECT_EQ(One(Known(content_)).state, FetchState::kFetched) << "the server answers HTTP 416";
  EXPECT_EQ(folder_.Read("data/toy/a.txt"), content_);
}

TEST_F(DownloadTest, AFullDiskIsToldBeforeTheFirstByte) {
  server_.On("/a.txt", [&](const SeenRequest& r, int) { return Serve(r, content_); });
  FetchOptions options = Options(folder_);
  options.free_bytes = [] { return int64_t{64 << 20} + 100'000; };
  try {
    One(Known(content_), options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
    EXPECT_THAT(error.what(), HasSubstr("200000 bytes are needed, and only 100000 are free"));
  }
  EXPECT_THAT(folder_.Files(), IsEmpty());
}

TEST_F(DownloadTest, FilesComeAtTheSameTime) {
  const std::vector<std::string> names = {"a.txt", "b.txt", "c.txt", "d.txt"};
  std::mutex mutex;
  std::condition_variable all;
  int open = 0;
  for (const std::string& name : names) {
    server_.On("/" + name, [&](const SeenRequest& r, int) {
      std::unique_lock lock(mutex);
      ++open;
      all.notify_all();
      all.wait_for(lock, std::chrono::seconds(20), [&] { return open >= 3; });
      return Serve(r, content_);
    });
  }
  FetchOptions options = Options(folder_);
  options.jobs = 3;
  for (const FetchResult& result : Fetch(Toy(server_.url(), names), options)) {
    EXPECT_EQ(result.state, FetchState::kFetched) << result.detail;
  }
  EXPECT_EQ(server_.most_at_once(), 3);
}

TEST_F(DownloadTest, AStopKeepsWhatCame) {
  std::atomic<bool> stop{false};
  server_.On("/a.txt", [&](const SeenRequest& r, int before) {
    if (before > 0) return Serve(r, content_);
    RawAnswer answer = Cut(r, content_, 50'000);
    answer.close = false;
    answer.hang = true;
    stop = true;
    return answer;
  });
  FetchOptions options = Options(folder_);
  const std::filesystem::path partial = folder_.path() / "data/toy/.part-a.txt";
  options.stopped = [&] {
    std::error_code error;
    return stop && std::filesystem::file_size(partial, error) == 50'000 && !error;
  };
  EXPECT_EQ(One(Known(content_), options).detail, server_.url() + "/a.txt: stopped");
  EXPECT_EQ(One(Known(content_)).state, FetchState::kFetched);
  EXPECT_EQ(RangeOf(1), "bytes=50000-");
}

TEST_F(DownloadTest, WrongFilesThatAreThereStayUnlessToldOtherwise) {
  server_.On("/a.txt", [&](const SeenRequest& r, int) { return Serve(r, content_); });
  folder_.Write("data/toy/a.txt", "mine");
  const FetchResult kept = One(Known(content_));
  EXPECT_EQ(kept.state, FetchState::kFailed);
  EXPECT_THAT(kept.detail, HasSubstr("--replace"));
  EXPECT_EQ(folder_.Read("data/toy/a.txt"), "mine");
  EXPECT_THAT(server_.seen(), IsEmpty());
  FetchOptions options = Options(folder_);
  options.replace = true;
  EXPECT_EQ(One(Known(content_), options).state, FetchState::kFetched);
  EXPECT_EQ(folder_.Read("data/toy/a.txt"), content_);
}

TEST_F(DownloadTest, MirrorsGoFirstAndTheNextSourceLast) {
  FileServer mirror;
  server_.On("/a.txt", [&](const SeenRequest& r, int) { return Serve(r, "wrong"); });
  server_.On("/second", [&](const SeenRequest& r, int) { return Serve(r, content_); });
  tasks::Manifest toy = Known(content_);
  toy.files[0].sources.push_back({server_.url() + "/second", "", ""});
  FetchOptions options = Options(folder_);
  options.mirrors = {{server_.url() + "/a", mirror.url() + "/copies/a"}};
  EXPECT_EQ(One(toy, options).state, FetchState::kFetched);
  EXPECT_EQ(mirror.seen().at(0).path, "/copies/a.txt");
  EXPECT_EQ(server_.seen().at(0).path, "/a.txt");
  EXPECT_EQ(server_.seen().at(1).path, "/second");
}

TEST_F(DownloadTest, ADryRunAsksNobody) {
  FetchOptions options = Options(folder_);
  options.dry_run = true;
  EXPECT_EQ(One(Known(content_), options).state, FetchState::kPlanned);
  EXPECT_THAT(server_.seen(), IsEmpty());
  EXPECT_FALSE(folder_.Has("data"));
}

TEST_F(DownloadTest, OneFetchAtATime) {
  server_.On("/a.txt", [&](const SeenRequest& r, int) {
    EXPECT_THROW(Fetch(Known(content_), Options(folder_)), Error);
    return Serve(r, content_);
  });
  EXPECT_EQ(One(Known(content_)).state, FetchState::kFetched);
}

}  // namespace
}  // namespace natsl::fetch
