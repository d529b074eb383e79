/**
 * An action for commander that loads its command when it runs, so that help and version come at once.
 * @param load imports the command.
 * @param given options that the program adds to those of the user.
 */
export function loaded<Args extends readonly unknown[]>(
  load: () => Promise<(...args: Args) => Promise<void>>,
  given: object = {},
): (...args: unknown[]) => Promise<void> {
  return async (...args) => {
    const command = await load();
    // The last argument is the command itself.
    const [options, ...words] = args.slice(0, -1).toReversed();
    await command(...([...words.toReversed(), { ...(options as object), ...given }] as unknown as Args));
  };
}
