/**
 * `npm run check:config [-- server|worker|setup]`: prints the values that are in force for a
 * process, without secrets, or everything that is wrong. It connects to nothing and listens on no
 * port, so it may run beside the process.
 */
import { type ProcessKind, readConfig } from "../platform/config/config.ts";
import { runProcess } from "../platform/config/config-error.ts";
import { valuesInForce } from "../platform/config/shown.ts";

const kinds: readonly ProcessKind[] = ["server", "worker", "setup"];

if (import.meta.main) await runProcess(main);

async function main(): Promise<void> {
  const [name = "server"] = process.argv.slice(2);
  const kind = kinds.find((each) => each === name);
  if (kind === undefined) {
    process.stderr.write(`${name} is none of ${kinds.join(", ")}\n`);
    process.exit(2);
  }
  readConfig(process.env, kind);
  process.stdout.write(`${valuesInForce(process.env, kind).join("\n")}\n`);
}
