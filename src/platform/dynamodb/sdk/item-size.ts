/** Computes the size of an item, which decides how many entries are packed into it. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";

/**
 * The size of an item in bytes, names counted, as DynamoDB bills it (developer guide, "item sizes
 * and formats").
 */
export function itemSize(item: Readonly<Record<string, AttributeValue>>): number {
  let size = 0;
  for (const [name, value] of Object.entries(item))
    size += Buffer.byteLength(name) + valueSize(value);
  return size;
}

/** The size of one attribute's value. */
export function valueSize(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.N !== undefined) return numberSize(value.N);
  if (value.B !== undefined) return value.B.byteLength;
  if (value.BOOL !== undefined || value.NULL !== undefined) return 1;
  if (value.SS !== undefined) return total(value.SS, (one) => Buffer.byteLength(one));
  if (value.NS !== undefined) return total(value.NS, numberSize);
  if (value.L !== undefined) return 3 + total(value.L, (one) => 1 + valueSize(one));
  if (value.M !== undefined) return 3 + Object.keys(value.M).length + itemSize(value.M);
  throw new Error(`no size is known for ${Object.keys(value)}`);
}

/** One byte for each two significant digits (rounded up), one more, and one for a minus sign. */
function numberSize(text: string): number {
  const [mantissa = ""] = text.toLowerCase().split("e");
  const digits = mantissa.replace(/[-+.]/g, "").replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  return Math.ceil(significant.length / 2) + 1 + (text.startsWith("-") ? 1 : 0);
}

export const total = <T>(values: readonly T[], of: (value: T) => number): number =>
  values.reduce((sum, value) => sum + of(value), 0);
