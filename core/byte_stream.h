// Values as bytes and back, for what this program writes and reads itself on one kind of machine:
// stored answers, messages between processes. Not a file format for others.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/error.h"

namespace natsl::core {

class ByteWriter {
 public:
  template <typename Value>
  void Put(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(Value));
  }
  void Put(const std::string& text) {
    Put(static_cast<int64_t>(text.size()));
    bytes_ += text;
  }
  template <typename Value>
  void Put(const std::vector<Value>& values) {
    Put(static_cast<int64_t>(values.size()));
    if constexpr (std::is_trivially_copyable_v<Value>) {
      bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));
    } else {
      for (const Value& value : values) Put(value);
    }
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Throws Error (data) "WHAT is damaged" where the bytes end early or go on.
class ByteReader {
 public:
  ByteReader(std::string_view bytes, std::string what) : left_(bytes), what_(std::move(what)) {}

  template <typename Value>
  void Get(Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    if (left_.size() < sizeof(Value)) throw Damaged();
    std::memcpy(&value, left_.data(), sizeof(Value));
    left_.remove_prefix(sizeof(Value));
  }
  void Get(bool& value) {
    uint8_t byte = 0;
    Get(byte);
    if (byte > 1) throw Damaged();
    value = byte != 0;
  }
  void Get(std::string& text) {
    const size_t size = Count(1);
    text.assign(left_.substr(0, size));
    left_.remove_prefix(size);
  }
  template <typename Value>
  void Get(std::vector<Value>& values) {
    if constexpr (std::is_trivially_copyable_v<Value>) {
      values.resize(Count(sizeof(Value)));
      const size_t bytes = values.size() * sizeof(Value);
      if (bytes > 0) std::memcpy(values.data(), left_.data(), bytes);
      left_.remove_prefix(bytes);
    } else {
      values.resize(Count(1));
      for (Value& value : values) Get(value);
    }
  }
  template <typename Value>
  Value Next() {
    Value value{};
    Get(value);
    return value;
  }
  bool AtEnd() const { return left_.empty(); }
  void End() const {
    if (!left_.empty()) throw Damaged();
  }

 private:
  /// A number of items, each of at least `item` bytes.
  size_t Count(size_t item) {
    int64_t count = 0;
    Get(count);
    if (count < 0 || static_cast<uint64_t>(count) > left_.size() / item) throw Damaged();
    return static_cast<size_t>(count);
  }
  Error Damaged() const { return DataError("{} is damaged", what_); }

  std::string_view left_;
  std::string what_;
};

}  // namespace natsl::core
