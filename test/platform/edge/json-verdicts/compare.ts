/** Compares how a JSON text is read with what protobuf-go says of it. */
import { type DescMessage, fromBinary, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { strictDecoder } from "../../../../src/platform/edge/strict-json.ts";
import type { Input } from "./inputs.ts";

/** Where we differ from protobuf-go, by the JSON. */
export const deviations: readonly (readonly [json: RegExp, reason: string])[] = [
  [/:-?[\d.]+[eE][+-]?[,\]}]/, "no JSON: Go reads the number before the e"],
  [/"-?\d+(\.\d+)?[ ,:[\]{}]/, "Go reads the number before the space or the punctuation"],
  [/00:00,1Z"/, "RFC 3339 has a point before fractions"],
  [/\dT\d:/, "RFC 3339 has two digits of hours"],
  [/\+24:00"/, "RFC 3339 has offsets of up to 23:59"],
  [/\+09:60"/, "RFC 3339 has offsets of up to 59 minutes"],
  [/"(\+[\d.]+|-?\d+\.|-?\.\d+)s"/, "Protobuf says digits on both sides, and no plus"],
  [/"updateMask":"(PENDING)? "/, "Go takes spaces away"],
  [/"csv":"YQ==\\n"/, "Go takes line ends for padding, and refuses some wrapped texts"],
];

const refused = "refused";

/** The message of a JSON text as JSON, or "refused". Throws what is no refusal. */
function ours(message: DescMessage, json: string): string {
  try {
    const text = strictDecoder(message).decode(Buffer.from(json));
    return toJsonString(message, fromJsonString(message, text));
  } catch (error) {
    const isRefusal = error instanceof ConnectError || /duplicate object key/.test(String(error));
    if (!isRefusal) throw error;
    return refused;
  }
}

/** Whether we read a text otherwise than protobuf-go, of which `verdict` is the answer. */
export const differs = ({ message, json }: Input, verdict: string | null): boolean =>
  ours(message, json) !==
  (verdict === null
    ? refused
    : toJsonString(message, fromBinary(message, Buffer.from(verdict, "base64"))));
