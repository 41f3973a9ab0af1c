/** Tests what the lines of the command's tables mean: inputs, columns and the names of fields. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { EventOrigin, PointsService } from "@meguri/client/points";
import { ReservationSchema, ReservationService } from "@meguri/client/reservations";
import { expect, test } from "vitest";
import type { Command, Commands } from "../../packages/cli/src/command.ts";
import { columnsOf, linesOf, setField } from "../../packages/cli/src/fields.ts";
import { inputOf } from "../../packages/cli/src/inputs.ts";
import { groups } from "../../packages/cli/src/program.ts";
import { inTypedNames } from "../../packages/cli/src/typed-names.ts";

const { revokePoints } = PointsService.method;
const { cancelReservations } = ReservationService.method;

function commandsIn(table: Commands, path = ""): [name: string, command: Command][] {
  return Object.entries(table).flatMap(([name, entry]) =>
    "commands" in entry
      ? commandsIn(entry.commands, `${path}${name} `)
      : [[`${path}${name}`, entry] as [string, Command]],
  );
}

const commands = Object.values(groups).flatMap((table) => commandsIn(table));

test("a line names an input, the field that it sets, and its help text", () => {
  const input = inputOf(revokePoints.input, "<grant-event-id> = grantEvent.eventId: the id: any");
  expect(input).toMatchObject({
    flags: "<grant-event-id>",
    name: "grant-event-id",
    key: "grantEventId",
    path: "grantEvent.eventId",
    help: "the id: any",
  });
  const program = inputOf(revokePoints.input, "-p, --program <id> = programId: the program");
  expect(program).toMatchObject({ name: "program", flags: "-p, --program <id>" });
});

test.each([
  ["--user <user> = usrId: the user", "has no field usrId"],
  ["--user <user> = userId.id: the user", "user_id is not a message"],
  ["the user", "no argument or option: the user"],
])("%j is refused before any command runs", (line, message) => {
  expect(() => inputOf(revokePoints.input, line)).toThrow(message);
});

test("only what a command does with it by hand sets no field", () => {
  const free = commands.flatMap(([name, { inputs }]) =>
    inputs.filter(({ path }) => path === undefined).map((input) => `${name} ${input.flags}`),
  );
  expect(free.filter((text) => !text.startsWith("ledger grep "))).toEqual([
    "grant --request",
    "revoke --request",
    "verify --id <id>",
    "liability show --csv",
    "reservation cancel-many --force",
    "bulk check <file>",
    "bulk submit <file>",
    "bulk submit --wait",
    "bulk digest <file>",
    "bulk diff --from <revision>",
    "bulk diff --to <revision>",
    "bulk reverse --force",
    "notifications --watch",
    "events tail --no-follow",
  ]);
});

test("no command sets a field twice", () => {
  for (const [name, { inputs }] of commands) {
    const paths = inputs.flatMap(({ path }) => path ?? []);
    expect([...new Set(paths)], name).toEqual(paths);
  }
});

test("fields are set within messages, and a oneof has the field that is set", () => {
  const fields = {};
  setField(fields, cancelReservations.input, "programId", "shop");
  setField(fields, cancelReservations.input, "reasonFilter.reasonPrefix", "sale");
  setField(fields, cancelReservations.input, "reasonFilter.executeTimeFrom", timestampFromMs(0));
  const value = { reasonPrefix: "sale", executeTimeFrom: timestampFromMs(0) };
  expect(create(cancelReservations.input, fields)).toMatchObject({
    programId: "shop",
    filter: { case: "reasonFilter", value },
  });
});

test("columns have the values of their paths, in the form of their types", () => {
  const columns = columnsOf<object>(ReservationSchema, [
    "reservation: reservationId, state, points, creator, changed by: lastChange.caller",
    { twice: () => 2 },
    "lateness ms: lateness, failure: failure.reason",
  ]);
  const reservation = create(ReservationSchema, {
    reservationId: "xmas",
    state: 1,
    points: 5n,
    creator: { service: "shop", subject: "alice" },
    lateness: { seconds: 1n, nanos: 5_000_000 },
  });
  expect(linesOf(columns, reservation)).toEqual([
    ["reservation", "xmas"],
    ["state", "PENDING"],
    ["points", 5n],
    ["creator", "alice via shop"],
    ["changed by", undefined],
    ["twice", 2],
    ["lateness ms", 1_005],
    ["failure", undefined],
  ]);
  expect(() => columnsOf(ReservationSchema, ["user: usrId"])).toThrow("has no field usrId");
});

test.each([
  ["revoke", "grant_event.event_id", "<grant-event-id>"],
  ["revoke", "event_id", "--event-id"],
  ["revoke", "grant_event", "grant_event"],
  ["like", "target_name.id", "<target>"],
  ["bulk submit", "header.bulk_grant_id", "<id>"],
  ["program update", "program.bulk_rules.max_points_per_row", undefined],
  ["reservation cancel-many", "reason_filter.execute_time_from", "--since"],
])("%s names the field %s as it is typed: %s", (name, field, typed) => {
  const inputs = commands.find(([each]) => each === name)?.[1].inputs ?? [];
  expect(inTypedNames({ field, description: "" }, inputs).field).toBe(typed ?? field);
});

test("words stand for the values of an enum", () => {
  const revoke = commands.find(([name]) => name === "revoke")?.[1];
  const origin = revoke?.inputs.find(({ name }) => name === "origin");
  expect(origin?.words).toMatchObject({ bulk: EventOrigin.BULK_GRANT });
});
