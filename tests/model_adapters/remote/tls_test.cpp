// Certificates: a server that nobody vouches for isn't spoken to, one that a given file vouches for
// is, and only under its own name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "model_adapters/remote/child_process.h"
#include "model_adapters/remote/transport.h"

namespace natsl::model_adapters {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("openssl version >/dev/null 2>&1") != 0) {
      GTEST_SKIP() << "the openssl command isn't installed; it makes the certificate";
    }
    folder_ = fs::temp_directory_path() / fmt::format("natsl_tls_{}", ::getpid());
    fs::create_directories(folder_);
    certificate_ = (folder_ / "cert.pem").string();
    const std::string key = (folder_ / "key.pem").string();
    const std::string make = fmt::format(
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout '{}' -out '{}' -days 2 -subj "
        "/CN=localhost -addext subjectAltName=DNS:localhost >/dev/null 2>&1",
        key, certificate_);
    ASSERT_EQ(std::system(make.c_str()), 0);
    server_ = std::make_unique<ChildProcess>(std::vector<std::string>{
        "python3", std::string(NATSL_SOURCE_DIR) + "/tests/model_adapters/remote/tls_server.py",
        certificate_, key});
    const ChildProcess::Received port = server_->Receive(60'000, 100);
    ASSERT_EQ(port.event, ChildProcess::Event::kLine);
    port_ = port.line;
  }
  void TearDown() override {
    server_.reset();
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  HttpAnswer Get(const std::string& host, const std::string& ca_file) const {
    TransportOptions options;
    options.ca_file = ca_file;
    options.timeout_ms = 20'000;
    const auto transport = MakeCurlTransport(options);
    transport->Start(1, {"https://" + host + ":" + port_ + "/", ""});
    while (true) {
      auto ended = transport->Wait(1000);
      if (!ended.empty()) return ended.front().second;
    }
  }

  fs::path folder_;
  std::string certificate_, port_;
  std::unique_ptr<ChildProcess> server_;
};

TEST_F(TlsTest, CertificatesAreVerified) {
  const HttpAnswer trusted = Get("localhost", certificate_);
  EXPECT_EQ(trusted.failure, "");
  EXPECT_EQ(trusted.status, 200);
  EXPECT_EQ(trusted.body, "{}");

  const HttpAnswer unknown = Get("localhost", "");
  EXPECT_EQ(unknown.status, 0);
  EXPECT_THAT(unknown.failure, HasSubstr("certificate"));
  EXPECT_FALSE(unknown.transient) << "no attempt would help";

  const HttpAnswer other_name = Get("127.0.0.1", certificate_);
  EXPECT_EQ(other_name.status, 0);
  EXPECT_FALSE(other_name.transient);
}

}  // namespace
}  // namespace natsl::model_adapters
