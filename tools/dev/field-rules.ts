/** Describes the constraints that protovalidate checks on a field, for the API reference. */
import { type DescField, getOption } from "@bufbuild/protobuf";
import * as validate from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { allowedText } from "../../src/platform/edge/violation-texts.ts";

/** The constraints of a field, in markdown; empty when there are none. */
export function rulesOf(field: DescField): string {
  const { oneof } = field;
  const required = oneof !== undefined && getOption(oneof, validate.oneof).required;
  const rules = getOption(field, validate.field);
  const mayBeEmpty = rules.ignore === validate.Ignore.IF_ZERO_VALUE;
  const texts = [
    oneof && `one of \`${oneof.name}\`${required ? ", required" : ""}`,
    rules.required && "required",
    allowedText(field),
    mayBeEmpty && "or empty",
    ...rules.cel.map(({ message }) => message),
  ];
  return texts.filter(Boolean).join(", ");
}
