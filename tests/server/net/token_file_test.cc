#include "server/net/token_file.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/environment.h"

namespace wq {
namespace {

using ::testing::HasSubstr;

class TokenFileTest : public ::testing::Test {
 protected:
  Status Load(const std::string& contents, mode_t mode = 0600) {
    std::ofstream(path_) << contents;
    EXPECT_EQ(chmod(path_.c_str(), mode), 0);
    return token_.Load(path_);
  }
  bool Accepts(const std::string& authorization) const { return token_.Check(authorization).ok(); }

  const support::ScratchDirectory dir_;
  const std::string path_ = dir_ / "token";
  TokenFile token_;
};

TEST_F(TokenFileTest, OnlyTheTokenIsAccepted) {
  EXPECT_FALSE(Accepts("Bearer "));  // Before a token is loaded.
  EXPECT_FALSE(Accepts(""));
  ASSERT_TRUE(Load("s3cret\n").ok());
  EXPECT_TRUE(Accepts("Bearer s3cret"));
  EXPECT_TRUE(Accepts("bearer s3cret"));
  for (const char* wrong :
       {"", "s3cret", "Bearer", "Bearer ", "Bearer s3cre", "Bearer s3crett", "Bearer s3creT",
        "Bearer s3crets3cret", "Bearer  s3cret", "Bearer s3cret\n", "Basic s3cret"}) {
    EXPECT_EQ(token_.Check(wrong).code(), StatusCode::kUnauthenticated) << wrong;
  }
  EXPECT_THAT(token_.Check("").message(), HasSubstr("has no token"));
  EXPECT_THAT(token_.Check("Bearer x").message(), HasSubstr("a wrong token"));
}

TEST_F(TokenFileTest, OneNewlineIsTrimmed) {
  ASSERT_TRUE(Load("abc").ok());
  EXPECT_TRUE(Accepts("Bearer abc"));
  EXPECT_FALSE(Load("abc\n\n").ok());
}

TEST_F(TokenFileTest, AReloadReplacesTheTokenAndAFailedOneDoesNot) {
  ASSERT_TRUE(Load("old").ok());
  ASSERT_TRUE(Load("new").ok());
  EXPECT_TRUE(Accepts("Bearer new"));
  EXPECT_FALSE(Accepts("Bearer old"));
  EXPECT_FALSE(Load("").ok());
  EXPECT_TRUE(Accepts("Bearer new"));
}

TEST_F(TokenFileTest, UnusableFilesAreRefusedByName) {
  const std::string most(TokenFile::kMaxBytes, 'x');
  EXPECT_TRUE(Load(most).ok());
  EXPECT_TRUE(Load(most + "\n").ok());
  for (const std::string& contents :
       {std::string(), std::string("\n"), most + "x", most + "x\n", std::string("two words"),
        std::string("a\0b", 3), std::string("\xc3\xa4")}) {
    const Status s = Load(contents);
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument) << contents;
    EXPECT_THAT(s.message(), HasSubstr(path_));
  }
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0644U}) {
    EXPECT_THAT(Load("abc", mode).message(), HasSubstr("accessible to other users")) << mode;
  }
  EXPECT_EQ(token_.Load(dir_ / "missing").code(), StatusCode::kNotFound);
  EXPECT_THAT(token_.Load(dir_.path()).message(), HasSubstr("is no regular file"));
}

}  // namespace
}  // namespace wq
