/** Looks up the addresses of web hooks, and keeps them away from private networks. */
import { type LookupAddress, type LookupOptions, lookup } from "node:dns";
import { BlockList, isIPv6, type LookupFunction } from "node:net";
import pLimit from "p-limit";

/** The networks of IPv4 that are not of the public Internet, as IANA's registry has them. */
const privateNetworks: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];

/** Those within the public part of IPv6: for documents, or with addresses of IPv4 in them. */
const privateNetworks6: readonly (readonly [string, number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const blocked = new BlockList();
for (const [network, bits] of privateNetworks) blocked.addSubnet(network, bits, "ipv4");
for (const [network, bits] of privateNetworks6) blocked.addSubnet(network, bits, "ipv6");

const public6 = new BlockList();
public6.addSubnet("2000::", 3, "ipv6");

/** Whether this is an address that is not public. False for a name. */
export function isPrivateAddress(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, "$1");
  if (!isIPv6(address)) return blocked.check(address, "ipv4");
  return !public6.check(address, "ipv6") || blocked.check(address, "ipv6");
}

/** A name has no public address. */
class PrivateAddressError extends Error {
  readonly code = "PRIVATE_ADDRESS";
}

/** Each lookup takes one of Node's four threads, for as long as its DNS server is silent. */
const inOrder = pLimit(2);

const lookingUp = new Map<string, Promise<readonly LookupAddress[]>>();

/** Connections to one name share a lookup, so that a name without an answer takes one thread. */
function addressesOf(name: string, options: LookupOptions): Promise<readonly LookupAddress[]> {
  const found = lookingUp.get(name) ?? inOrder(() => lookUp(name, options));
  lookingUp.set(name, found);
  return found.finally(() => lookingUp.delete(name));
}

const lookUp = (name: string, options: LookupOptions) =>
  new Promise<readonly LookupAddress[]>((resolve, reject) => {
    lookup(name, { ...options, all: true }, (error, addresses) =>
      error ? reject(error) : resolve(addresses),
    );
  });

const createLookup =
  (isAllowed: (address: string) => boolean): LookupFunction =>
  (name, options, callback) => {
    addressesOf(name, options).then(
      (addresses) => {
        const [first, ...others] = addresses.filter(({ address }) => isAllowed(address));
        if (!first) callback(new PrivateAddressError(name), "", 0);
        else if (options.all) callback(null, [first, ...others]);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, "", 0),
    );
  };

/**
 * Finds the public addresses of a name, for one connection. The connection goes to one of them and
 * nowhere else, so a name whose address changes afterwards leads to no private one.
 */
export const lookupPublic = createLookup((address) => !isPrivateAddress(address));

/** Finds the addresses of a name, also those of private networks. */
export const lookupAny = createLookup(() => true);
