// One GET: redirects, headers, and what is never sent or followed.
#include "fetch/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "model_adapters/remote/child_process.h"
#include "tests/fetch/support.h"

namespace natsl::fetch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Got {
  HttpOutcome outcome;
  std::string body;
};

Got Get(const std::string& url, HttpOptions options = {}) {
  Got got;
  HttpClient client(std::move(options));
  got.outcome = client.Get(url, {},
                           {[](const HttpHead&) { return ""; },
                            [&](std::string_view bytes) {
                              got.body += bytes;
                              return "";
                            }});
  return got;
}

TEST(HttpTest, ContentRanges) {
  const auto range = ParseContentRange("bytes 5-9/20");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 5);
  EXPECT_EQ(range->last, 9);
  EXPECT_EQ(range->total, 20);
  EXPECT_FALSE(ParseContentRange("bytes 0-0/*")->total);
  for (const char* text : {"", "bytes", "bytes 5-4/20", "bytes 5-20/20", "bytes -5-9/20",
                           "bytes 5-9", "items 5-9/20", "bytes 5-99999999999999999999/*"}) {
    EXPECT_FALSE(ParseContentRange(text)) << text;
  }
}

TEST(HttpTest, Origins) {
  EXPECT_EQ(OriginOf("https://HOST.example/x?y"), "https://host.example");
  EXPECT_EQ(OriginOf("https://host:443/x"), "https://host");
  EXPECT_EQ(OriginOf("http://host:8080"), "http://host:8080");
  EXPECT_EQ(OriginOf("https://host@evil/x"), "https://evil");
  EXPECT_EQ(OriginOf("file:///etc/passwd"), "");
  EXPECT_EQ(OriginOf("nothing"), "");
}

TEST(HttpTest, RedirectsAreFollowedUpToALimit) {
  FileServer server;
  server.On("/a", [&](const SeenRequest&, int) { return Redirect("/b"); });
  server.On("/b", [&](const SeenRequest&, int) { return Redirect(server.url() + "/c", 307); });
  server.On("/c", [&](const SeenRequest& r, int) { return Serve(r, "there"); });
  server.On("/loop", [&](const SeenRequest&, int) { return Redirect("/loop"); });
  server.On("/file", [&](const SeenRequest&, int) { return Redirect("file:///etc/passwd"); });
  const Got got = Get(server.url() + "/a");
  EXPECT_EQ(got.outcome.failure, "");
  EXPECT_EQ(got.body, "there");
  EXPECT_THAT(Get(server.url() + "/loop").outcome.failure, HasSubstr("more than 9 redirects"));
  const Got file = Get(server.url() + "/file");
  EXPECT_THAT(file.outcome.failure, HasSubstr("not an http or https address"));
  EXPECT_EQ(file.body, "");
}

TEST(HttpTest, TheTokenStaysWithItsOrigin) {
  FileServer hub, other;
  other.On("/x", [](const SeenRequest& r, int) { return Serve(r, "x"); });
  hub.On("/x", [&](const SeenRequest&, int) { return Redirect(other.url() + "/x"); });
  HttpOptions options;
  options.token = "hf_secret";
  options.token_origin = hub.url();
  EXPECT_EQ(Get(hub.url() + "/x", options).body, "x");
  EXPECT_EQ(hub.seen()[0].headers.at("authorization"), "Bearer hf_secret");
  EXPECT_FALSE(other.seen()[0].headers.contains("authorization"));
  // Another port of the same host is another place; nor does a token go out unencrypted.
  options.token_origin = "http://example.org";
  Get(other.url() + "/x", options);
  EXPECT_FALSE(other.seen()[1].headers.contains("authorization"));
}

TEST(HttpTest, BodiesOfErrorsAreForNobody) {
  FileServer server;
  server.On("/x", [](const SeenRequest&, int) { return Reply(403, "secret words"); });
  const Got got = Get(server.url() + "/x");
  EXPECT_EQ(got.outcome.failure, "HTTP 403");
  EXPECT_FALSE(got.outcome.transient);
  EXPECT_EQ(got.body, "");
}

TEST(HttpTest, EndlessHeadersEnd) {
  FileServer server;
  server.On("/x", [](const SeenRequest& r, int) {
    std::string headers;
    for (int i = 0; i < 4000; ++i) headers += fmt::format("X-{}: {}\r\n", i, std::string(80, 'x'));
    RawAnswer answer = Serve(r, "x");
    answer.bytes.insert(answer.bytes.find("\r\n") + 2, headers);
    return answer;
  });
  EXPECT_NE(Get(server.url() + "/x").outcome.failure, "");
}

TEST(HttpTest, TlsIsVerifiedAndNeverLeft) {
  if (std::system("openssl version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "the openssl command isn't installed; it makes the certificate";
  }
  const TemporaryFolder folder;
  const std::string certificate = folder.path() / "cert.pem", key = folder.path() / "key.pem";
  const std::string make = fmt::format(
      "openssl req -x509 -newkey rsa:2048 -nodes -keyout '{}' -out '{}' -days 2 -subj "
      "/CN=localhost -addext subjectAltName=DNS:localhost >/dev/null 2>&1",
      key, certificate);
  ASSERT_EQ(std::system(make.c_str()), 0);
  model_adapters::ChildProcess process(std::vector<std::string>{
      "python3", std::string(NATSL_SOURCE_DIR) + "/tests/model_adapters/remote/tls_server.py",
      certificate, key});
  const auto port = process.Receive(60'000, 100);
  ASSERT_EQ(port.event, model_adapters::ChildProcess::Event::kLine);
  const std::string url = "https://localhost:" + port.line;
  HttpOptions options;
  options.ca_file = certificate;
  EXPECT_EQ(Get(url + "/x", options).body, "{}");
  const Got unknown = Get(url + "/x");
  EXPECT_THAT(unknown.outcome.failure, HasSubstr("certificate"));
  EXPECT_FALSE(unknown.outcome.transient);
  FileServer plain;
  plain.On("/x", [](const SeenRequest& r, int) { return Serve(r, "plain"); });
  const Got down = Get(url + "/redirect-to/" + plain.url() + "/x", options);
  EXPECT_THAT(down.outcome.failure, HasSubstr("redirects from https to http, which is refused"));
  EXPECT_TRUE(plain.seen().empty());
}

}  // namespace
}  // namespace natsl::fetch
