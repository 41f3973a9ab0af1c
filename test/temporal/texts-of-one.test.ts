/** Tests that operators read of one point, and not of one points. */
import { expect, test } from "vitest";
import { detailsOf } from "../../workflows/holds/hold-view.ts";
import { showDetails } from "../../workflows/reservations/reservation-view.ts";

const names = { program_id: "default", user_id: "alice" };
const until = "2026-12-01T00:00:00Z";

test.each([
  [1, "1 point of alice. Held"],
  [2_000, "2,000 points of alice. Held"],
])("a hold of %d", (points, text) => {
  const input = { ...names, hold_id: "h", points, until };
  const step = { state: "HELD", until, captured_points: 0, released_points: 0 } as const;
  expect(detailsOf(input, step)).toContain(text);
});

test("a reservation", () => {
  let details = "";
  const run = {
    showDetails: (text: string) => (details = text),
    isCancelRequested: () => false,
  };
  const input = { ...names, reservation_id: "r", points: 1, execute_time_at_start: until };
  const times = { execute_time: until, grant_time: until, lateness: "0s" };
  const step = { step: "DONE", ...times, points: 1, available_points: 1, entry_number: 1 } as const;
  showDetails(run as never, input, step, until);
  expect(details).toBe(
    `1 point for alice. Granted at ${until}, 0s late: 1 point available, ledger entry 1.`,
  );
});
