/** The command `doctor`, which says what is wrong with a connection, and what to do. */
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createMeguri } from "@meguri/client";
import { HealthCheckResponse_ServingStatus } from "@meguri/client/health";
import { runs } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import type { Output } from "../output.ts";
import type { Session } from "../session.ts";
import { version } from "../version.ts";
import { type Check, CheckFailed, checkContract, clockToleranceMs } from "./check-contract.ts";

export const doctor = runs(EmptySchema, {
  summary: "check the set-up, and say what to do",
  description:
    "Checks versions, the servers, their contract, the clock and the identity of the caller. " +
    "Nothing is changed. The exit code is 0 if all is well.",
  takes: [],
  examples: ["meguri doctor"],
  async run(session) {
    for (const check of [versions, ...callerChecks(session)]) {
      if (!(await report(session.out, check))) session.exitCode = exitCodes.refused;
    }
  },
});

const versions: Check = {
  name: "versions",
  run: async () => `meguri ${version}, Node ${process.versions.node}`,
};

/** Prints the result of a check, and returns whether all is well. */
async function report(out: Output, { name, run }: Check): Promise<boolean> {
  try {
    const found = await run();
    await out.value({ check: name, ok: true, found }, line(out, true, name, found));
    return true;
  } catch (error) {
    if (!(error instanceof CheckFailed)) throw error;
    const { message: found, advice } = error;
    const text = line(out, false, name, `${found}. ${advice}`);
    await out.value({ check: name, ok: false, found, advice }, text);
    return false;
  }
}

function line(out: Output, isOk: boolean, name: string, text: string): string {
  const state = isOk ? out.style("green", "ok") : out.style("red", "FAILED");
  const padding = isOk ? "      " : "  ";
  return `${state}${out.isTerminal ? padding : "\t"}${out.table([[name, text]])}`;
}

/** The checks of a caller, in their order. */
function callerChecks(session: Session): Check[] {
  const servers: Server[] = session.connection.url.map((url) => ({ url }));
  return [
    ...servers.map((server) => ({
      name: `server ${server.url}`,
      run: () => checkServer(session, server),
    })),
    { name: "contract", run: () => checkContracts(session, servers) },
    { name: "clock", run: async () => checkClock(servers) },
    { name: "identity", run: () => checkIdentity(session, servers) },
  ];
}

interface Server {
  readonly url: string;
  hasAnswered?: true;
  /** How far its clock is ahead of this machine's, if its answers had a time. */
  aheadMs?: number;
}

/** A server that does not answer is tried again for so long. */
const timeoutMs = 10_000;

async function checkServer({ connection, call }: Session, server: Server): Promise<string> {
  const { health, close } = createMeguri({ ...connection, url: server.url });
  try {
    const onHeader = (headers: Headers) => {
      // The header is cut to seconds, so that half a second is the smallest error.
      const date = Date.parse(headers.get("date") ?? "") + 500;
      if (Number.isFinite(date)) server.aheadMs = date - Date.now();
    };
    const options = { ...call, timeoutMs, onHeader };
    const { status } = await health.check({}, options);
    server.hasAnswered = true;
    if (status === HealthCheckResponse_ServingStatus.SERVING) return "is serving";
    throw new CheckFailed("is not serving", "It starts or stops: wait, or use another server.");
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    throw new CheckFailed(error.rawMessage, "Start the server, or correct MEGURI_URL or --url.");
  } finally {
    close();
  }
}

/** Asks the first server that has answered: others differ only while a version rolls out. */
async function checkContracts(
  { connection, call }: Session,
  servers: readonly Server[],
): Promise<string> {
  const server = servers.find(({ hasAnswered }) => hasAnswered);
  if (!server) throw noServer();
  const { reflection, close } = createMeguri({ ...connection, url: server.url });
  try {
    return await checkContract(reflection, { ...call, timeoutMs });
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    if (error.code === Code.Unimplemented) return "unknown: reflection is not served";
    throw new CheckFailed(error.rawMessage, "Try again: the server may have too much to do.");
  } finally {
    close();
  }
}

const noServer = () =>
  new CheckFailed("unknown: no server has answered", "Try again when one does.");

function checkClock(servers: readonly Server[]): string {
  if (!servers.some(({ hasAnswered }) => hasAnswered)) throw noServer();
  const offs = servers.flatMap(({ aheadMs }) => (aheadMs === undefined ? [] : [aheadMs]));
  const worst = Math.max(0, ...offs.map(Math.abs));
  if (offs.length === 0) return "unknown: no server has sent its time";
  if (worst <= clockToleranceMs) return "agrees with the servers' clocks";
  const seconds = Math.round(worst / 1_000);
  throw new CheckFailed(
    `differs by ${seconds} s from a server's clock`,
    "Synchronise the clocks of this machine and of the server (NTP).",
  );
}

async function checkIdentity(
  { meguri, connection, call }: Session,
  servers: readonly Server[],
): Promise<string> {
  if (!servers.some(({ hasAnswered }) => hasAnswered)) throw noServer();
  const who = connection.token ? "the token" : `the caller ${connection.caller}`;
  try {
    await meguri.programs.getProgram({ programId: "default" }, { ...call, timeoutMs });
    return `${who} is accepted`;
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    if (error.code === Code.PermissionDenied) return `${who} is accepted, but cannot read programs`;
    throw new CheckFailed(error.rawMessage, adviceFor(error.code));
  }
}

function adviceFor(code: Code): string {
  if (code === Code.Unauthenticated) return "Set MEGURI_TOKEN to a valid token.";
  if (code === Code.NotFound) return "Create the program default: npm run setup.";
  return "Run npm run doctor where the server runs, with its variables.";
}
