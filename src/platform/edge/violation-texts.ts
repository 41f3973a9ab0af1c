/** Says in words what the rules of a field allow, for refusals and for the API reference. */
import {
  type DescField,
  type DescMessage,
  getOption,
  hasExtension,
  hasOption,
  type JsonObject,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import {
  type Path,
  pathToString,
  type ReflectList,
  type ReflectMessage,
  reflect,
} from "@bufbuild/protobuf/reflect";
import type { Violation } from "@bufbuild/protovalidate";
import * as validate from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { file_meguri_rules_v1_rules as rulesFile } from "../../gen/meguri/rules/v1/rules_pb.ts";
import type { FieldViolation } from "../messages/invalid-request.ts";
import { mostListed } from "../words/quantities.ts";

/** The rules that many fields share. Each has a message, which says what a field may be. */
const predefinedRules = rulesFile.extensions;

/**
 * The text of a field's rules, such as "1 to 1,000,000,000"; empty when it has none. Knows the
 * rules that the protos use, which a test checks.
 */
export function allowedText(field: DescField): string {
  if (!hasOption(field, validate.field)) return "";
  return textOfRules(field, getOption(field, validate.field));
}

/**
 * The violations of a message: each wrong field once, with all of its rules. Has as many fields as
 * a refusal names.
 */
export function describeViolations<D extends DescMessage>(
  schema: D,
  message: MessageShape<D>,
  violations: readonly Violation[],
): FieldViolation[] {
  const unique = new Map<string, FieldViolation>();
  for (const violation of violations) {
    if (unique.size === mostListed) break;
    const field = pathToString(violation.field);
    const value = valueAt(reflect(schema, message), violation.field);
    const description = violationText(violation, value);
    unique.set(`${field}: ${description}`, { field, description });
  }
  return [...unique.values()];
}

/** The value at a path without maps. */
function valueAt(message: ReflectMessage, path: Path): unknown {
  return path.reduce<unknown>((value, step) => {
    if (step.kind === "field") return (value as ReflectMessage).get(step);
    return step.kind === "list_sub" ? (value as ReflectList).get(step.index) : undefined;
  }, message);
}

function violationText({ field, rule, ruleId, message }: Violation, value: unknown): string {
  const [last, beforeLast] = [field.at(-1), field.at(-2)];
  if (last?.kind === "oneof") {
    return `one of ${last.fields.map(({ name }) => name).join(", ")} is required`;
  }
  if (ruleId === "required" || value === "") return "is required";
  const [first] = rule;
  if (first?.kind === "field" && first.name === "cel") return message;
  const isItem = last?.kind === "list_sub" && beforeLast?.kind === "field";
  const text = isItem ? itemText(beforeLast) : last?.kind === "field" && allowedText(last);
  return text || "is not allowed";
}

/** The text of the rules for the items of a list. */
function itemText(field: DescField): string {
  const { type } = getOption(field, validate.field);
  if (type.case !== "repeated" || !type.value.items) return "";
  return textOfRules(field, type.value.items);
}

/** Joins what the standard and the predefined rules of a field or of its items say. */
function textOfRules(field: DescField, rules: validate.FieldRules): string {
  const json = toJson(validate.FieldRulesSchema, rules, { useProtoFieldName: true });
  const own = rules.type.value;
  const texts = predefinedRules
    .filter((rule) => own !== undefined && hasExtension(own, rule))
    .flatMap((rule) => getOption(rule, validate.predefined).cel.map(({ message }) => message));
  return joined([textOfType(field, json as JsonObject), ...texts]);
}

/** Joins what the standard rules of the field's type say. `rules` are FieldRules as JSON. */
function textOfType(field: DescField, rules: JsonObject): string {
  const types = ["string", "bytes", "repeated", "enum", "int32", "int64", "timestamp", "duration"];
  const type = types.find((name) => rules[name] !== undefined) ?? "";
  const own = (rules[type] ?? {}) as JsonObject;
  const { min_len, max_len, min_bytes, max_bytes } = own;
  switch (type) {
    case "string":
      return joined([range(min_len, max_len, "characters"), range(min_bytes, max_bytes, "bytes")]);
    case "bytes":
      return range(min_len, max_len, "bytes");
    case "repeated": {
      const items = itemText(field);
      const unit = own.unique ? "different items" : "items";
      return joined([range(own.min_items, own.max_items, unit), items && `each ${items}`]);
    }
    case "enum":
      return enumText(field, own.not_in);
    default:
      return joined([
        Array.isArray(own.in) ? `one of ${own.in.map(format).join(", ")}` : "",
        own.gt === undefined ? "" : `more than ${format(own.gt)}`,
        range(own.gte, own.lte, ""),
      ]);
  }
}

function enumText(field: DescField, notIn: unknown): string {
  const excluded = new Set(Array.isArray(notIn) ? notIn : []);
  const values = field.enum?.values.filter(({ number }) => !excluded.has(number)) ?? [];
  return `one of ${values.map(({ name }) => name).join(", ")}`;
}

/** "1 to 64 bytes", "at most 64 bytes", "1 or more"; empty without limits. */
function range(min: unknown, max: unknown, unit: string): string {
  const text = (limits: string) => (unit === "" ? limits : `${limits} ${unit}`);
  if (min !== undefined && max !== undefined) return text(`${format(min)} to ${format(max)}`);
  if (max !== undefined) return text(`at most ${format(max)}`);
  return min === undefined ? "" : text(`${format(min)} or more`);
}

/** A number with separators of thousands; a duration likewise, in seconds; a time as it is. */
function format(limit: unknown): string {
  const [, number, second = ""] = /^(-?\d+)(s?)$/.exec(String(limit)) ?? [];
  if (number === undefined) return String(limit);
  return BigInt(number).toLocaleString("en-US") + (second && " s");
}

const joined = (texts: readonly string[]): string => texts.filter((text) => text !== "").join(", ");
