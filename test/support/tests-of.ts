/** Finds the tests of a source file: by its own path below `test`, or where this file says. */
import { posix } from "node:path";

/** Folders and files that have no tests under their own path, and the folder that tests them. */
const elsewhere: Readonly<Record<string, string>> = {
  activities: "test/temporal",
  workflows: "test/temporal",
  "src/hub": "test/store",
  "src/compose.ts": "test/platform/edge",
  "src/compose-events.ts": "test/events",
  "src/events.ts": "test/events",
  "src/routes.ts": "test/platform/edge",
  "src/server.ts": "test/platform/edge",
  "src/platform/observe": "test/platform/edge",
  "src/worker.ts": "test/worker",
};

/** The source files without a test, by the paths of all files. */
export function untested(files: readonly string[]): string[] {
  const tests = files.filter((file) => /^test\/.*\.(test|check)\.ts$/.test(file));
  const sources = files.filter((file) => /^(src|workflows|activities)\/(?!gen\/)/.test(file));
  const hasTests = (folder: string) => tests.some((test) => test.startsWith(`${folder}/`));
  return sources.filter((source) => !hasTests(folderOf(source, hasTests)));
}

/** The folder of the tests of a source file: the nearest one that has any, above its mirror. */
function folderOf(source: string, hasTests: (folder: string) => boolean): string {
  for (let place = source; place !== "."; place = posix.dirname(place)) {
    const found = elsewhere[place] ?? place.replace(/^(src|workflows|activities)\//, "test/");
    if (hasTests(found)) return found;
  }
  return "";
}
