/** Makes and reads the attributes of DynamoDB's items. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";

/** An item as the SDK has it: attribute values by name. */
export type Item = Record<string, AttributeValue>;

export const S = (value: string): AttributeValue => ({ S: value });
export const N = (value: number): AttributeValue => ({ N: String(value) });
export const numbers = (values: readonly number[]): AttributeValue => ({ L: values.map(N) });
export const strings = (values: readonly string[]): AttributeValue => ({ L: values.map(S) });

export const text = (item: Item, name: string): string => item[name]?.S ?? "";
export const num = (item: Item, name: string): number => Number(item[name]?.N ?? 0);
export const nums = (item: Item, name: string): number[] =>
  (item[name]?.L ?? []).map((value) => Number(value.N));
export const texts = (item: Item, name: string): string[] =>
  (item[name]?.L ?? []).map((value) => value.S ?? "");
/** The parts of a key attribute, which `#` joins. */
export const parts = (item: Item, name: string): string[] => text(item, name).split("#");

/**
 * A number in a sort key, padded so that keys sort as text in the order of the numbers. Throws a
 * RangeError for a number that is not whole, negative or too long, because its key would sort
 * elsewhere and decode to another number.
 */
export function pad(value: number, digits: number): string {
  if (!Number.isSafeInteger(value) || value < 0 || value >= 10 ** digits) {
    throw new RangeError(`a key of ${digits} digits cannot hold ${value}`);
  }
  return String(value).padStart(digits, "0");
}
