import type { AttributeValue } from "@aws-sdk/client-dynamodb";

/** The size of an item in bytes, names counted, by the rules of DynamoDB's developer guide. */
export function itemSize(item: Readonly<Record<string, AttributeValue>>): number {
  let size = 0;
  for (const [name, value] of Object.entries(item)) size += Buffer.byteLength(name) + sizeOf(value);
  return size;
}

function sizeOf(value: AttributeValue): number {
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.N !== undefined) return numberSize(value.N);
  if (value.BOOL !== undefined) return 1;
  // A list takes 3 bytes, and each element 1 besides its own size.
  if (value.L !== undefined) return value.L.reduce((sum, each) => sum + 1 + sizeOf(each), 3);
  throw new Error(`no size is known for ${Object.keys(value)}`);
}

/** A byte for each two significant digits, one for the exponent, one for a minus sign. */
function numberSize(text: string): number {
  const digits = text.replace(/^-?0*/, "").replace(/0+$/, "");
  // An odd number of digits can take a byte more, depending on where the pairs begin.
  return Math.floor(digits.length / 2) + 1 + 1 + (text.startsWith("-") ? 1 : 0);
}
