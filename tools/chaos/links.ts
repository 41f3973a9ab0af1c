/** The connections of the processes to the store and to Temporal, which faults cut. */
import { startTcpProxy, type TcpProxy } from "../../test/support/servers/tcp-proxy.ts";
import type { Begin } from "./faults.ts";

/** A fault that closes these connections at once, and refuses new ones until it ends. */
export const cutting =
  (proxies: readonly TcpProxy[]): Begin =>
  async () => {
    for (const proxy of proxies) proxy.cut();
    return async () => {
      for (const proxy of proxies) proxy.restore();
    };
  };

/** A fault in which these connections stay open, but nothing passes any more until it ends. */
export const silencing =
  (proxies: readonly TcpProxy[]): Begin =>
  async () => {
    for (const proxy of proxies) proxy.hang();
    return async () => {
      // Lost bytes break the connections, as they do when a network is back.
      for (const proxy of proxies) {
        proxy.cut();
        proxy.restore();
      }
    };
  };

/** The connections of one process. */
export interface Links {
  readonly store: TcpProxy;
  /** Undefined for a process that needs no Temporal. */
  readonly temporal: TcpProxy | undefined;
}

export async function startLinks(
  storePort: number,
  temporalPort: number | undefined,
): Promise<Links> {
  const [store, temporal] = await Promise.all([
    startTcpProxy(storePort),
    temporalPort === undefined ? undefined : startTcpProxy(temporalPort),
  ]);
  return { store, temporal };
}

/** The faults of the connections of one process. */
export const faultsOf = ({ store, temporal }: Links): Readonly<Record<string, Begin>> => ({
  "cut off from the store": cutting([store]),
  "without an answer of the store": silencing([store]),
  ...(temporal && {
    "cut off from Temporal": cutting([temporal]),
    "without an answer of Temporal": silencing([temporal]),
  }),
});
