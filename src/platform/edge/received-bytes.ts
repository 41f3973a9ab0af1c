/** Counts the bytes that a server has received and not handed on to a handler yet. */
import type { Socket } from "node:net";
import { DomainError } from "../words/errors.ts";
import { Quota } from "../work/quota.ts";

const mib = 2 ** 20;

/** How many bytes may be held at a time. */
export interface ByteLimits {
  readonly ofConnection: number;
  readonly ofService: number;
  readonly ofServer: number;
}

/** A connection holds two of the largest requests, a service three, and all services fifteen. */
const defaultLimits = { ofConnection: 9 * mib, ofService: 16 * mib, ofServer: 64 * mib };

/** The bytes of one call. */
export interface ReceivedBytes {
  /** Throws OVERLOADED above a limit. */
  add(bytes: number): void;
  /** They were handed on, or dropped. */
  clear(): void;
  /** The call has ended: nothing of it is held, whatever still arrives. */
  end(): void;
}

/** Returns a function that starts to count for a call. Reports all changes to `onHold`. */
export function createByteBudget(
  limits: ByteLimits = defaultLimits,
  onHold: (bytes: number) => void = () => {},
) {
  const { ofConnection, ofService, ofServer } = limits;
  const connections = new Quota<Socket | undefined>({ perHolder: ofConnection });
  const services = new Quota<string>({ perHolder: ofService, total: ofServer });

  return (service: string, connection: Socket | undefined): ReceivedBytes => {
    let held = 0;
    let isEnded = false;
    const received: ReceivedBytes = {
      add(bytes) {
        if (isEnded) return;
        if (!connections.take(connection, bytes)) throw overloaded("this connection");
        if (!services.take(service, bytes)) {
          connections.release(connection, bytes);
          throw overloaded(`${service}, or of all services,`);
        }
        held += bytes;
        onHold(bytes);
      },
      clear() {
        if (held === 0) return;
        connections.release(connection, held);
        services.release(service, held);
        onHold(-held);
        held = 0;
      },
      end() {
        isEnded = true;
        received.clear();
      },
    };
    return received;
  };
}

const overloaded = (whose: string) =>
  new DomainError("OVERLOADED", `the server holds too many unfinished requests of ${whose}`);
