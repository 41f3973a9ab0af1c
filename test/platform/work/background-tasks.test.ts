/** Tests background tasks: their retries, their concurrency and how they are closed. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createLogger } from "../../../src/platform/observe/log.ts";
import { DomainError } from "../../../src/platform/words/errors.ts";
import { createBackgroundTasks } from "../../../src/platform/work/background-tasks.ts";

const log = createLogger("test", "silent");
const away = () => new DomainError("WORKFLOWS_UNAVAILABLE", "Temporal gave no answer");

test("a task with a retryable error is tried again", async () => {
  const background = createBackgroundTasks(log);
  const { promise, resolve } = Promise.withResolvers<void>();
  let tries = 0;
  background.run(async () => {
    tries += 1;
    if (tries < 3) throw away();
    resolve();
  });
  await promise;
  expect(tries).toBe(3);
  await background.close();
});

test("a task that is refused is not tried again", async () => {
  const background = createBackgroundTasks(log);
  let tries = 0;
  background.run(async () => {
    tries += 1;
    throw new DomainError("PROGRAM_NOT_FOUND", "there is none");
  });
  await background.close();
  expect(tries).toBe(1);
  expect((await background.dropped.get()).values).toMatchObject([{ value: 1 }]);
});

test("32 tasks are under way at once, and closing waits for all tasks", async () => {
  const background = createBackgroundTasks(log);
  let running = 0;
  let most = 0;
  let done = 0;
  for (let i = 0; i < 100; i++) {
    background.run(async () => {
      running += 1;
      most = Math.max(most, running);
      await sleep(1);
      running -= 1;
      done += 1;
    });
  }
  await background.close();
  expect({ most, done }).toEqual({ most: 32, done: 100 });
});

test("closing ends the retries", async () => {
  const background = createBackgroundTasks(log);
  let tries = 0;
  background.run(async () => {
    tries += 1;
    throw away();
  });
  await sleep(10);
  await background.close();
  expect(tries).toBeLessThanOrEqual(2);
});
