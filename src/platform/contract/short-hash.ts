/** A short hash of a text, by code that runs in the sandbox of workflows, too. */

/** FNV-1a of 64 bits in hex, which needs no module that the sandbox of workflows lacks. */
export function shortHash(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash.toString(16).padStart(16, "0");
}
