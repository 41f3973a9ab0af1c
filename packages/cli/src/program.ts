/** The command tree: the options that all commands have, and the commands by groups. */
import { Command, InvalidArgumentError, Option } from "commander";
import { log } from "./acts.ts";
import { bulk } from "./bulk.ts";
import type { Commands } from "./command.ts";
import { addCompletion } from "./completion.ts";
import { doctor } from "./doctor/command.ts";
import { events } from "./events.ts";
import { exitCodesHelp } from "./exit-codes.ts";
import { feed } from "./feed.ts";
import { holds } from "./holds.ts";
import { type Io, write } from "./io.ts";
import { ledgers, verify } from "./ledger.ts";
import { liabilities } from "./liability.ts";
import { points } from "./points.ts";
import { programs } from "./programs.ts";
import { reservations, reserve } from "./reservations.ts";
import { addCommands, type Runner } from "./tree.ts";
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

/** All commands but those about the command itself, by the headings of the help text. */
export const groups: Readonly<Record<string, Commands>> = {
  "Points:": {
    ...points,
    hold: {
      summary: "set points aside, capture, release, show and list them",
      description: "A hold sets points aside until they are captured or released, or time out.",
      commands: holds,
    },
    ledger: {
      summary: "list what has happened to accounts, or search it in exports",
      description: "Lists the events of an account; exports ledgers, and searches exports.",
      examples: ["meguri ledger alice", "meguri ledger list --help"],
      commands: ledgers,
    },
    verify,
    liability: {
      summary: "report the points that a program owes",
      description:
        "A liability report says which points are outstanding at an instant, by the month in " +
        "which they expire, and what became of points before.",
      commands: liabilities,
    },
  },
  "Reservations:": {
    reserve,
    reservation: {
      summary: "list, show, cancel, move, change and retry reservations",
      description: "Reservations are grants for a later time. meguri reserve makes one.",
      commands: reservations,
    },
  },
  "Bulk grants:": {
    bulk: {
      summary: "give points to many users by a sheet",
      description:
        "Gives points to many users by one sheet of CSV with the columns user_id, points and, " +
        "optionally, reason. The sheet is submitted and checked, approved by another person, and " +
        "then granted row by row.",
      examples: [
        "meguri bulk check spring sheet.csv",
        "meguri bulk submit spring sheet.csv",
        "meguri bulk approve spring",
        "meguri bulk watch spring",
      ],
      commands: bulk,
    },
  },
  "Reactions and notifications:": feed,
  "Programs:": {
    program: {
      summary: "create, list and change programs",
      description: "Points programs: a time zone and a lifetime of points, shared by accounts.",
      commands: programs,
    },
    log,
    events: {
      summary: "print what has happened, as it happens",
      description: "Events say what has changed, for whoever needs to know it.",
      commands: events,
    },
  },
};

/** Makes the command tree, whose actions run by `inSession`. It throws what commander reports. */
export function createProgram(io: Io, inSession: Runner): Command {
  const program = new Command("meguri");
  program
    .description(description)
    .version(version)
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
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
  for (const [group, commands] of Object.entries(groups)) {
    program.commandsGroup(group);
    addCommands(program, commands, inSession);
  }
  program.commandsGroup("Help:");
  const help = new Command("help").helpGroup("Help:").description("explain a command");
  help.argument("[command]");
  program.addHelpCommand(help);
  addCommands(program, { doctor }, inSession);
  addCompletion(program, io);
  return program;
}

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
