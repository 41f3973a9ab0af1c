/** The form of the scenarios of audited methods. */
import type { CallOptions } from "@connectrpc/connect";
import type { Clients } from "../servers/server.ts";

/** The program of the scenarios. */
export const programId = "sheets";

/** The reason of the calls that have one. */
export const reason = "because";

/** One audited method: how it is called, and what its act says. */
export interface Scenario {
  /** Makes what the call changes. */
  readonly prepare?: () => Promise<unknown>;
  readonly call: (clients: Clients, options: CallOptions) => Promise<unknown>;
  /** A call that is refused, also before the call above. */
  readonly refused: (clients: Clients) => Promise<unknown>;
  readonly act: object;
  /** The program; `programId` by default. */
  readonly program?: string;
}

export const changed = (field: string, before: string, after: string) => ({ field, before, after });
