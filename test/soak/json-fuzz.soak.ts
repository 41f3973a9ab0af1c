/** Random JSON of all requests: read as protobuf-go reads it, or refused by both. */
import { globSync } from "node:fs";
import {
  create,
  type DescMessage,
  type DescService,
  type MessageInitShape,
  toJsonString,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import { askProtobufGo } from "../platform/edge/json-verdicts/ask.ts";
import { deviations, differs } from "../platform/edge/json-verdicts/compare.ts";
import { type Input, values } from "../platform/edge/json-verdicts/inputs.ts";
import { messageOf } from "../support/fuzz/messages.ts";
import { projectRoot } from "../support/markdown.ts";
import { inForm, soakSeed } from "../support/soak.ts";

/** Longer texts are the same mistakes among more of the rest. */
const maxLength = 1_000;

/** Members that no message has, or that every object of JavaScript has. */
const names = ["__proto__", "constructor", "toString", "x", "userid", "user_id"];

test("JSON is read as protobuf-go reads it, or refused by both", async () => {
  const count = inForm({ short: 5_000, long: 100_000 });
  const inputs = await randomInputs(count, soakSeed(20_261_129));
  expect(inputs).toHaveLength(count);
  const verdicts = askProtobufGo(inputs);
  const different = inputs.filter((input, i) => differs(input, verdicts[i] ?? null));
  const unexplained = different.filter(({ json }) => !deviations.some(([form]) => form.test(json)));
  expect(unexplained.map(({ message, json }) => `${message.name} ${json}`)).toEqual([]);
  // Not all is damaged, or all would be refused.
  expect(verdicts.filter((verdict) => verdict !== null).length).toBeGreaterThan(count / 10);
});

async function randomInputs(count: number, seed: number): Promise<Input[]> {
  const requests = await requestTypes();
  const input = fc
    .constantFrom(...requests)
    .chain((message) =>
      fc.record({
        message: fc.constant(message),
        init: messageOf(message),
        damage: fc.constantFrom(...damages),
        place: fc.nat({ max: 2 ** 30 }),
        value: fc.constantFrom(...values),
        name: fc.constantFrom(...names),
      }),
    )
    .map(({ init, ...rest }) => ({ ...rest, whole: jsonOf(rest.message, init) }))
    .filter(({ whole }) => whole.length <= maxLength)
    .map(({ message, whole, damage, place, value, name }) => ({
      message,
      json: damage(whole, place, { value, name }),
    }));
  return fc.sample(input, { seed, numRuns: count });
}

/** The JSON of a message; empty when one of its times or masks has no form in JSON. */
function jsonOf(message: DescMessage, init: object): string {
  try {
    return toJsonString(message, create(message, init as MessageInitShape<DescMessage>));
  } catch {
    return "{}";
  }
}

/** The types of all requests. */
async function requestTypes(): Promise<DescMessage[]> {
  const files = globSync(`${projectRoot}src/gen/meguri/**/*_pb.ts`).map((file) => import(file));
  const exported = (await Promise.all(files)).flatMap((file) => Object.values(file));
  return exported.flatMap((each) => {
    const { kind, methods = [] } = each as Partial<DescService>;
    return kind === "service" ? methods.map(({ input }) => input) : [];
  });
}

type Damage = (
  json: string,
  place: number,
  other: Readonly<Record<"value" | "name", string>>,
) => string;

const cut = (json: string, place: number, length: number, by: string): string => {
  const at = place % (json.length + 1);
  return json.slice(0, at) + by + json.slice(at + length);
};

/** Replaces one of the matches, or nothing where there is none. */
const replaced = (json: string, form: RegExp, place: number, by: string): string => {
  const matches = [...json.matchAll(form)];
  const match = matches[place % matches.length];
  return match ? json.slice(0, match.index) + by + json.slice(match.index + match[0].length) : json;
};

const aValue = /(?<=:)("([^"\\]|\\.)*"|-?[\d.]+|true|false)/g;
const aName = /"\w+"(?=:)/g;

const damages: readonly Damage[] = [
  (json) => json,
  (json, place, { value }) => replaced(json, aValue, place, value),
  (json, place, { value }) => replaced(json, aValue, place, value),
  (json, place, { name }) => replaced(json, aName, place, `"${name}"`),
  (json, _, { name, value }) => json.replace(/^\{/, `{"${name}":${value},`),
  (json, place) => cut(json, place, 1, ""),
  (json, place) => cut(json, place, 0, '{}[],:"0 \\nu'.charAt(place % 12)),
];
