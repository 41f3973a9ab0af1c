/** Runs `npm run demo` as people do, and reads what it prints. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = `${import.meta.dirname}/../..`;

test("the demo shows months, reserved grants, a campaign and likes, all right", async () => {
  // It ends with another code than 0, which is an error here, when anything of it is wrong.
  const { stdout } = await promisify(execFile)(process.execPath, ["tools/dev/demo.ts"], {
    cwd: root,
  });
  const inOrder = [
    /^ +2025-01 +92 +2192 +0 +0$/m,
    /^ +all +1591 +35680 +19500 +1849$/m,
    /worker killed \(SIGKILL\) while the workflows sleep/,
    /sheet of 79 rows refused, line 3: points: .*found `5O`/,
    /mended and sent again as revision 2: 79 rows, 3950 points/,
    /approved by sales/,
    /worker killed \(SIGKILL\) when \d+ of 79 rows were granted/,
    /badge 3: Ben and 2 others liked “Green tea, 100 g”/,
    /marked as read up to what was shown/,
    /badge 1: Emi liked “Green tea, 100 g”/,
    /✓ points of the fourteen months: granted 35680 − used 19500 − expired 1849 = held 14331/,
    /✓ reserved grants: 20 of 20 landed exactly once/,
    /✓ campaign: 79 of 79 rows granted exactly once/,
    /✓ badges/,
    /✓ ledgers: 79 accounts, \d+ entries, 0 wrong/,
    /✓ events: (\d+) of \1 entries have reached who follows them, each under one id/,
    /What to look at in Temporal's Web UI/,
    /http\S+\/namespaces\/default\/workflows\/reservation%2Fshop%2Fbirthday-customer-\d+$/m,
    /http\S+\/namespaces\/default\/workflows\/bulk-grant%2Fshop%2Fspring-campaign$/m,
  ];
  let from = 0;
  for (const line of inOrder) {
    const found = line.exec(stdout.slice(from));
    expect(found, `${line} in the rest of:\n${stdout}`).not.toBeNull();
    from += found?.index ?? 0;
  }
});
