/** The workflow types, by which clients start workflows. */

export const workflowTypes = {
  reservation: "reservation",
  hold: "hold",
  reconciler: "reconciler",
  startRuns: "startRuns",
  monthEnd: "monthEnd",
  expiryNotices: "expiryNotices",
  verifyProgram: "verifyProgram",
  liabilityReport: "liabilityReport",
  exportLedger: "exportLedger",
  purgeTarget: "purgeTarget",
  bulkGrant: "bulkGrant",
  bulkGrantFromSource: "bulkGrantFromSource",
  bulkGrantRows: "bulkGrantRows",
  pickUpSheets: "pickUpSheets",
} as const;
