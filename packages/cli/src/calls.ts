/** Calls methods by their descriptors: once, page by page, or until a run has ended. */

import { setTimeout as sleep } from "node:timers/promises";
import type {
  DescMessage,
  DescMethodUnary,
  DescService,
  Message,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { ActService } from "@meguri/client/acts";
import { BulkGrantService } from "@meguri/client/bulk-grants";
import { EventService } from "@meguri/client/events";
import { HoldService } from "@meguri/client/holds";
import { NotificationService } from "@meguri/client/notifications";
import {
  PointsService,
  type ProgramJob,
  ProgramJob_State,
  ProgramJob_StateSchema,
} from "@meguri/client/points";
import { ProgramService } from "@meguri/client/programs";
import { ReactionService } from "@meguri/client/reactions";
import { ReservationService } from "@meguri/client/reservations";
import { enumName } from "./output.ts";
import type { Session } from "./session.ts";

/** The services that the command calls, by the names of their clients. */
export const services = {
  programs: ProgramService,
  points: PointsService,
  reservations: ReservationService,
  holds: HoldService,
  reactions: ReactionService,
  notifications: NotificationService,
  bulkGrants: BulkGrantService,
  acts: ActService,
  events: EventService,
} as const satisfies Record<string, DescService>;

const clientNames = Object.keys(services) as (keyof typeof services)[];

/** A client whose methods are called by their names. */
type Client = Readonly<Record<string, (request: object, options: object) => Promise<Message>>>;

/** Calls a method in a session. */
export async function send<I extends DescMessage, O extends DescMessage>(
  { meguri, call }: Session,
  { parent, localName }: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
): Promise<MessageShape<O>> {
  const name = clientNames.find((each) => services[each].typeName === parent.typeName);
  const method = name && (meguri[name] as unknown as Client)[localName];
  if (!method) throw new Error(`no client of ${parent.typeName}`);
  return (await method(request, call)) as MessageShape<O>;
}

/** Yields the answers of a list, each with up to 200 records. */
export async function* answersOf<I extends DescMessage, O extends DescMessage>(
  session: Session,
  method: DescMethodUnary<I, O>,
  request: object,
): AsyncGenerator<MessageShape<O>> {
  let pageToken = "";
  do {
    const page: object = { ...request, pageSize: 200, pageToken };
    const answer = await send(session, method, page as MessageInitShape<I>);
    yield answer;
    pageToken = (answer as unknown as { readonly nextPageToken: string }).nextPageToken;
  } while (pageToken !== "");
}

/** Yields each record of a stream as a page of its own, so that it is printed at once. */
export async function* singly<T>(records: AsyncIterable<T>): AsyncGenerator<readonly T[]> {
  for await (const record of records) yield [record];
}

/** How often the progress of a run is read. */
const pollMs = 1_000;

/** Reads a run until it has ended, with a note of it before each pause. */
export async function untilEnded<T extends { readonly job?: ProgramJob | undefined }>(
  { out, call }: Session,
  noteOf: (run: T) => string,
  started: T | undefined,
  read: () => Promise<T | undefined>,
): Promise<T | undefined> {
  let run = started;
  while (run?.job?.state === ProgramJob_State.RUNNING) {
    await out.note(noteOf(run));
    await sleep(pollMs, undefined, call);
    run = await read();
  }
  return run;
}

/** The state of a job as people read it. */
export const jobState = (job: ProgramJob | undefined): string =>
  enumName(ProgramJob_StateSchema, job?.state ?? ProgramJob_State.UNSPECIFIED);
