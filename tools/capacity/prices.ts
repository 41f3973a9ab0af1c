/**
 * List prices in US dollars, without discounts, free tiers and tax. AWS: us-east-1; the pages
 * "Amazon DynamoDB pricing" (on-demand and provisioned), "AWS Fargate pricing" (Linux on x86) and
 * "Amazon RDS for PostgreSQL pricing" (a pair of db.r7g.xlarge in two zones). Temporal Cloud:
 * "Temporal Cloud pricing", pay-as-you-go. A price is a promise of nobody: look it up again.
 */

export const prices = {
  /** When they were put down here. */
  date: "2026-11-25",
  /** DynamoDB on demand, for a million units. */
  millionWriteUnits: 0.625,
  millionReadUnits: 0.125,
  /** A million requests for records of streams (GetRecords), each of up to 1 MB. */
  millionStreamReads: 0.2,
  /** DynamoDB provisioned, for a unit a second for an hour. */
  writeUnitHour: 0.00065,
  readUnitHour: 0.00013,
  /** Tables, and their point-in-time recovery, for a GB and month. */
  storedGb: 0.25,
  /** A table of the class Standard-IA: the same of storage, and of units on demand. */
  rareStoredGb: 0.1,
  rareMillionWriteUnits: 0.78,
  recoverableGb: 0.2,
  vcpuHour: 0.04048,
  memoryGbHour: 0.004445,
  /** A Postgres that survives the loss of a zone, without its storage. */
  postgresHour: 0.956,
  /**
   * Temporal Cloud's tiers: up to so many million actions a month, and the price of a million.
   * Beyond 200 million there is no list price; the last one stands for it.
   */
  actionTiers: [
    [5, 50],
    [10, 45],
    [20, 40],
    [50, 35],
    [100, 30],
    [Number.POSITIVE_INFINITY, 25],
  ],
  /** The Business plan, which is assumed: so much a month, or this share of the use. */
  temporalPlan: 500,
  temporalPlanShare: 0.1,
  /** Millions of actions that the plan includes. */
  includedActions: 2.5,
  /**
   * Temporal Cloud's storage of runs that are open, for a GB and hour, and what the plan includes:
   * 2.5 GB, each for 744 hours (https://docs.temporal.io/cloud/pricing, "Storage pricing").
   */
  activeGbHour: 0.042,
  includedActiveGbHours: 2.5 * 744,
} as const;

/** AWS's month. */
export const hoursPerMonth = 730;
export const daysPerMonth = hoursPerMonth / 24;
