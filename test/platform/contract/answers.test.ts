/** Tests the seals of answers against answers that were edited, or that belong elsewhere. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { isSealed, sealed } from "../../../src/platform/contract/answers.ts";

/** A value as a history keeps it. */
const kept = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const answers = fc.option(fc.jsonValue(), { nil: undefined });

test("an answer of a worker has the seal of its activity, and of no other one", () => {
  const keys = fc.uniqueArray(fc.string(), { minLength: 2, maxLength: 2 });
  const property = fc.property(keys, answers, ([key = "", other = ""], answer) => {
    const result = kept(sealed(key, answer));
    expect(isSealed(key, result)).toBe(true);
    expect(isSealed(other, result)).toBe(false);
  });
  fc.assert(property, { seed: 1 });
});

test("an answer that was edited does not have its seal", () => {
  const property = fc.property(fc.string(), answers, answers, (key, answer, edited) => {
    fc.pre(JSON.stringify(answer) !== JSON.stringify(edited));
    expect(isSealed(key, kept({ ...sealed(key, answer), answer: edited }))).toBe(false);
  });
  fc.assert(property, { seed: 2 });
});

test("an answer that was made up has no seal", () => {
  const property = fc.property(fc.string(), answers, (key, answer) => {
    expect(isSealed(key, answer)).toBe(false);
    expect(isSealed(key, { answer })).toBe(false);
  });
  fc.assert(property, { seed: 3 });
});
