/** Time limits for what cannot be cancelled, as a write to a disk that has gone away. */

/** Milliseconds after which a write, a sync or a checkpoint counts as failed, although it may still end: every sink over the network fails earlier. */
const overdueMs = 15_000;

/**
 * Waits for work, and says when it takes too long. It goes on being waited for: a second write beside it could store lines twice or in another order.
 * @param overdue called once with an error in words.
 */
export async function watched(
  work: Promise<void> | undefined,
  what: string,
  overdue: (error: Error) => void,
): Promise<void> {
  const limit = setTimeout(
    () => overdue(new Error(`${what} has not ended for ${overdueMs / 1_000} s, and is still waited for`)),
    overdueMs,
  ).unref();
  try {
    await work;
  } finally {
    clearTimeout(limit);
  }
}

/** Waits for work, but not longer than a limit. @param limitMs in milliseconds. */
export async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  let limit: NodeJS.Timeout | undefined;
  await Promise.race([work, new Promise((resolve) => void (limit = setTimeout(resolve, limitMs)))]).finally(() =>
    clearTimeout(limit),
  );
}
