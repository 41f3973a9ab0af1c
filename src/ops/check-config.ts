/**
 * `npm run check:config [-- server|worker|events|setup]`: prints the values that are in force for a
 * process, without secrets, or everything that is wrong, also in the file of subscriptions. It
 * connects to nothing and listens on no port, so it may run beside the process.
 */
import { createDestinations } from "../events/destinations/create-destinations.ts";
import { readSubscriptionDefinitions } from "../events/destinations/definitions.ts";
import { type ProcessKind, readConfig } from "../platform/config/config.ts";
import { runProcess, usingVariable } from "../platform/config/config-error.ts";
import { valuesInForce } from "../platform/config/shown.ts";
import { createLogger } from "../platform/observe/log.ts";

const kinds: readonly ProcessKind[] = ["server", "worker", "events", "setup"];

if (import.meta.main) await runProcess(main);

async function main(): Promise<void> {
  const [name = "server"] = process.argv.slice(2);
  const kind = kinds.find((each) => each === name);
  if (kind === undefined) {
    process.stderr.write(`${name} is none of ${kinds.join(", ")}\n`);
    process.exit(2);
  }
  const config = readConfig(process.env, kind);
  if (kind === "events") checkSubscriptions(config.eventSubscriptions);
  process.stdout.write(`${valuesInForce(process.env, kind).join("\n")}\n`);
}

/** Reads the file of the subscriptions and the secrets that it names, as the process does. */
function checkSubscriptions(file: string | undefined): void {
  const log = createLogger("check-config", "silent");
  const subscribed = usingVariable("MEGURI_EVENT_SUBSCRIPTIONS", () =>
    createDestinations(readSubscriptionDefinitions(file), log),
  );
  for (const { destination } of subscribed) destination.close();
}
