/** Whole numbers in few bytes. */
import type { Type } from "../../../platform/dynamodb/fields.ts";

export const varints: Type<readonly number[]> = {
  encode: (numbers) => ({ B: encodeVarints(numbers) }),
  decode: ({ B: bytes }) => decodeVarints(bytes),
  none: () => [],
};

/** Each number in bytes of 7 bits, the lowest first, 128 added to each but the last (LEB128). */
export function encodeVarints(numbers: readonly number[]): Uint8Array {
  const bytes: number[] = [];
  for (const number of numbers) {
    let rest = number;
    for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
    bytes.push(rest);
  }
  return Uint8Array.from(bytes);
}

export function decodeVarints(stored: Uint8Array = new Uint8Array()): number[] {
  const numbers: number[] = [];
  let number = 0;
  let factor = 1;
  for (const byte of stored) {
    number += (byte % 128) * factor;
    factor *= 128;
    if (byte >= 128) continue;
    numbers.push(number);
    number = 0;
    factor = 1;
  }
  return numbers;
}
