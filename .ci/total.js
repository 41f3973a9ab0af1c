// Prints every failed test with its message, then "N passed, N failed". The failures come last,
// because whoever reads a long CI log may be given its end only.
// Arguments: "1" or "", whether a step failed, then the JSON reports of the test runs.
import { readFileSync } from "node:fs";

const [stepFailed, ...files] = process.argv.slice(2);
let passed = 0;
let failed = 0;

/** Prints the beginning of a failure: the message, and where it was thrown. */
function printFailure(name, message) {
  console.log(`==> FAILED TEST: ${name}\n${(message ?? "").slice(0, 2000)}\n`);
}

for (const file of files) {
  let report = {};
  try {
    report = JSON.parse(readFileSync(file, "utf8"));
  } catch {
    console.log(`==> NO REPORT: ${file}`);
  }
  passed += report.numPassedTests ?? 0;
  failed += report.numFailedTests ?? 0;
  for (const { name, status, message, assertionResults } of report.testResults ?? []) {
    const failures = assertionResults.filter((test) => test.status === "failed");
    for (const { fullName, failureMessages } of failures) {
      printFailure(`${name}: ${fullName}`, failureMessages.join("\n"));
    }
    if (status === "failed" && failures.length === 0) printFailure(name, message);
  }
}
// A run that broke before or beside its tests counts as one failure.
if (failed === 0 && stepFailed === "1") failed = 1;
console.log(`${passed} passed, ${failed} failed`);
