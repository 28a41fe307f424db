// natsl_parquet: Parquet rows as JSON records, by Arrow's reader.
#include <arrow/array.h>
#include <arrow/io/file.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <parquet/arrow/reader.h>

#include <cmath>

#include "core/json.h"
#include "tasks/data/parquet.h"

namespace natsl::tasks {
namespace {

using core::Json;

template <typename ArrayType>
Json Value(const arrow::Array& array, int64_t row) {
  return static_cast<const ArrayType&>(array).Value(row);
}

template <typename ArrayType>
Json Text(const arrow::Array& array, int64_t row) {
  return std::string(static_cast<const ArrayType&>(array).GetView(row));
}

Json ToJson(const arrow::Array& array, int64_t row);

template <typename ArrayType>
Json List(const arrow::Array& array, int64_t row) {
  const auto& list = static_cast<const ArrayType&>(array);
  Json items = Json::array();
  for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i) {
    items.push_back(ToJson(*list.values(), i));
  }
  return items;
}

/// One value of any supported type; the types were checked before.
Json ToJson(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return nullptr;
  switch (array.type_id()) {
    case arrow::Type::BOOL:
      return Value<arrow::BooleanArray>(array, row);
    case arrow::Type::INT8:
      return Value<arrow::Int8Array>(array, row);
    case arrow::Type::INT16:
      return Value<arrow::Int16Array>(array, row);
    case arrow::Type::INT32:
      return Value<arrow::Int32Array>(array, row);
    case arrow::Type::INT64:
      return Value<arrow::Int64Array>(array, row);
    case arrow::Type::UINT8:
      return Value<arrow::UInt8Array>(array, row);
    case arrow::Type::UINT16:
      return Value<arrow::UInt16Array>(array, row);
    case arrow::Type::UINT32:
      return Value<arrow::UInt32Array>(array, row);
    case arrow::Type::UINT64:
      return Value<arrow::UInt64Array>(array, row);
    case arrow::Type::FLOAT:
      return Value<arrow::FloatArray>(array, row);
    case arrow::Type::DOUBLE:
      return Value<arrow::DoubleArray>(array, row);
    case arrow::Type::STRING:
      return Text<arrow::StringArray>(array, row);
    case arrow::Type::LARGE_STRING:
      return Text<arrow::LargeStringArray>(array, row);
    case arrow::Type::LIST:
      return List<arrow::ListArray>(array, row);
    case arrow::Type::LARGE_LIST:
      return List<arrow::LargeListArray>(array, row);
    case arrow::Type::STRUCT: {
      const auto& structure = static_cast<const arrow::StructArray&>(array);
      Json object = Json::object();
      for (int i = 0; i < structure.num_fields(); ++i) {
        object[structure.type()->field(i)->name()] = ToJson(*structure.field(i), row);
      }
      return object;
    }
    default:
      return nullptr;  // the null type
  }
}

void RequireSupported(const arrow::Field& field, const std::string& where) {
  switch (field.type()->id()) {
    case arrow::Type::NA:
    case arrow::Type::BOOL:
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::UINT8:
    case arrow::Type::UINT16:
    case arrow::Type::UINT32:
    case arrow::Type::UINT64:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
      return;
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::STRUCT:
      for (const auto& child : field.type()->fields()) {
        RequireSupported(*child, where);
      }
      return;
    default:
      throw DataError(
          "{}: the column \"{}\" is of type {}, expected text, numbers, booleans, or "
          "lists and structs of them",
          where, field.name(), field.type()->ToString());
  }
}

std::shared_ptr<arrow::Table> ReadTable(const std::string& file, const std::string& name) {
  const auto fail = [&](const arrow::Status& status) {
    throw DataError("{}: not a readable Parquet file: {}", name, status.message());
  };
  auto input = arrow::io::ReadableFile::Open(file);
  if (!input.ok()) fail(input.status());
  auto reader = parquet::arrow::OpenFile(*input, arrow::default_memory_pool());
  if (!reader.ok()) fail(reader.status());
  auto table = (*reader)->ReadTable();
  if (!table.ok()) fail(table.status());
  return *table;
}

void Read(const std::string& file, const std::string& name, std::vector<Record>& records) {
  const std::shared_ptr<arrow::Table> table = ReadTable(file, name);
  for (const auto& field : table->schema()->fields()) RequireSupported(*field, name);
  std::vector<std::shared_ptr<Json>> rows(static_cast<size_t>(table->num_rows()));
  for (auto& row : rows) row = std::make_shared<Json>(Json::object());
  for (int c = 0; c < table->num_columns(); ++c) {
    const std::string& column = table->field(c)->name();
    size_t at = 0;
    for (const auto& chunk : table->column(c)->chunks()) {
      for (int64_t i = 0; i < chunk->length(); ++i) (*rows[at++])[column] = ToJson(*chunk, i);
    }
  }
  records.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    records.push_back({rows[i], fmt::format("{}: row {}", name, i)});
  }
}

}  // namespace
}  // namespace natsl::tasks

extern "C" __attribute__((visibility("default"))) void natsl_read_parquet(
    const std::string& file, const std::string& name, std::vector<natsl::tasks::Record>& records) {
  natsl::tasks::Read(file, name, records);
}
