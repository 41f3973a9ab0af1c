/** Tests, by the type check, that numbers of different units are not mixed up. */
import { expect, test } from "vitest";
import { type Instant, type Month, monthAt } from "../../../src/platform/words/month.ts";
import type { Milliseconds, Points } from "../../../src/platform/words/units.ts";

test("a number of one unit is none of another one", () => {
  const instant: Instant = 0;
  const month: Month = monthAt("Asia/Tokyo", instant);
  const points: Points = 7;
  // @ts-expect-error A month is no instant.
  const from: Instant = month;
  // @ts-expect-error Points are no instant.
  monthAt("Asia/Tokyo", points);
  // @ts-expect-error An instant is no span of time.
  const span: Milliseconds = instant;
  expect([from, span]).toEqual([month, instant]);
});
