/** Describes the constraints that protovalidate checks on a field, for the API reference. */
import { type DescField, getOption, hasOption, type JsonValue, toJson } from "@bufbuild/protobuf";
import * as validate from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

/** The words for names of protovalidate that are not plain enough. */
const words: Readonly<Record<string, string>> = {
  gt: "more than",
  gte: "at least",
  lt: "less than",
  lte: "at most",
  ignore: "not checked when",
  IGNORE_IF_ZERO_VALUE: "empty",
};

/** The constraints of a field, in markdown; empty when there are none. */
export function rulesOf(field: DescField): string {
  const { oneof } = field;
  const required = oneof !== undefined && getOption(oneof, validate.oneof).required;
  const choice = oneof ? [`one of \`${oneof.name}\`${required ? ", required" : ""}`] : [];
  if (!hasOption(field, validate.field)) return choice.join(", ");
  const rules = getOption(field, validate.field);
  const json = toJson(validate.FieldRulesSchema, rules, { useProtoFieldName: true });
  return [...choice, ...flatten(json)].join(", ");
}

/** `{int64: {gte: "1"}}` becomes "at least 1": the docs show the type in a column of its own. */
function flatten(rules: JsonValue): string[] {
  const texts = Object.entries(rules ?? {}).flatMap(([name, value]: [string, JsonValue]) => {
    const word = words[name] ?? name;
    if (value === true) return [word];
    if (Array.isArray(value)) return [`${word} ${value.join(", ")}`];
    if (name === "items") return [`each: ${flatten(value).join(", ")}`];
    if (typeof value === "object") return flatten(value);
    if (name === "pattern") return [`pattern \`${value}\``];
    return [`${word} ${words[String(value)] ?? value}`];
  });
  return texts.sort();
}
