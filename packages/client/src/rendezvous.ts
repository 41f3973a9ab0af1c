/** Orders servers for a key by rendezvous hashing (highest random weight). */

/** A 32-bit hash of a text: FNV-1a over its UTF-16 code units, with MurmurHash3's finalizer. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return mix(hash);
}

/**
 * The weight of a server for a key, from the hashes of both. The server with the highest weight
 * serves the key. A server that comes or goes changes the order of the others for no key.
 */
export const weightOf = (keyHash: number, serverHash: number): number => mix(keyHash ^ serverHash);

/** MurmurHash3's finalizer: each bit of the input changes each bit of the result half the time. */
function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
