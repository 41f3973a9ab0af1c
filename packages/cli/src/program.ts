/** The command tree: the options that all commands have, and the commands by groups. */
import { Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { type Command as BaseCommand, type Option as BaseOption, Help } from "commander";
import { addBalance, addLedger } from "./accounts.ts";
import type { AddCommand, Runner } from "./action.ts";
import { addBulk } from "./bulk.ts";
import { addCompletion } from "./completion.ts";
import { addDoctor } from "./doctor/command.ts";
import { addNotify, addRetract } from "./events.ts";
import { exitCodesHelp } from "./exit-codes.ts";
import { addHold } from "./holds.ts";
import { type Io, write } from "./io.ts";
import { addLiability } from "./liability.ts";
import { addBlock, addMuted } from "./mutes.ts";
import { addNotification } from "./notification.ts";
import { addNotifications } from "./notifications.ts";
import {
  addExtend,
  addFreeze,
  addGrant,
  addRefund,
  addRevoke,
  addUnfreeze,
  addUse,
} from "./points.ts";
import { addProgram } from "./programs.ts";
import { addLike, addUnlike } from "./reactions.ts";
import { checkRequiredLast } from "./required-options.ts";
import { addReservation, addReserve } from "./reservations.ts";
import { addVerify } from "./verify.ts";
import { version } from "./version.ts";

const description = `Calls Meguri: points, reservations, bulk grants, reactions and notifications.

  meguri balance alice                  what alice has
  meguri grant alice 120 --reason gift  gives alice 120 points
  meguri grant --help                   explains a command`;

const notes = `
Results are tables on a terminal, lines with tabs in a pipe, and with --json one JSON
document a line, as in the API. Messages and progress go to standard error.

${exitCodesHelp}

Without options and variables the server is http://127.0.0.1:8080 and the caller "cli".
TLS: MEGURI_CA_FILE, MEGURI_CERT_FILE and MEGURI_KEY_FILE name files in PEM.
More: docs/call/cli.md`;

const groups: readonly (readonly [string, readonly AddCommand[]])[] = [
  [
    "Points:",
    [
      addBalance,
      addGrant,
      addUse,
      addRefund,
      addRevoke,
      addExtend,
      addFreeze,
      addUnfreeze,
      addHold,
      addLedger,
      addVerify,
      addLiability,
    ],
  ],
  ["Reservations:", [addReserve, addReservation]],
  ["Bulk grants:", [addBulk]],
  [
    "Reactions and notifications:",
    [
      addLike,
      addUnlike,
      addNotify,
      addRetract,
      addNotifications,
      addNotification,
      addBlock,
      addMuted,
    ],
  ],
  ["Programs:", [addProgram]],
];

/** Makes the command tree, whose actions run by `inSession`. It throws what commander reports. */
export function createProgram(io: Io, inSession: Runner): Command {
  const program = new Command("meguri");
  program
    .description(description)
    .version(version)
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, optionDescription })
    .configureOutput({
      writeOut: (text) => void write(io.stdout, text),
      writeErr: (text) => void write(io.stderr, text),
      getOutHelpWidth: () => io.stdout.columns ?? 100,
      getErrHelpWidth: () => io.stderr.columns ?? 100,
      // An error is printed where its exit code is known.
      outputError: () => {},
    })
    .addHelpText("after", notes);
  for (const option of globalOptions()) program.addOption(option);
  for (const [group, commands] of groups) {
    program.commandsGroup(group);
    for (const add of commands) add(program as Command, inSession);
  }
  program.commandsGroup("Help:");
  const help = new Command("help").helpGroup("Help:").description("explain a command");
  help.argument("[command]");
  program.addHelpCommand(help);
  addDoctor(program as Command, inSession);
  addCompletion(program as BaseCommand, io);
  checkRequiredLast(program as BaseCommand);
  return program as Command;
}

/** Without the default of a switch, which says nothing to a person. */
const optionDescription = (option: BaseOption): string =>
  new Help().optionDescription(option).replace(" (default: false)", "");

const globalOptions = (): Option[] => [
  new Option("--url <urls>", "the server, or several with commas (MEGURI_URL)"),
  new Option("--token <token>", "the bearer token; MEGURI_TOKEN hides it from process lists"),
  new Option("--caller <name>", "the calling service, where there are no tokens (MEGURI_CALLER)"),
  new Option("--timeout <seconds>", "how long a call may take").default(10).argParser(readSeconds),
  new Option("--json", "print JSON"),
];

function readSeconds(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0 && seconds <= 3_600)) {
    throw new InvalidArgumentError("It has to be more than 0 and at most 3600.");
  }
  return seconds;
}
