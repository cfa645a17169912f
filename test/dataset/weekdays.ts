/** The dates from Monday to Friday between two dates, inclusive. */
export function weekdays(from: string, to: string): string[] {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += 86_400_000)
    if (![0, 6].includes(new Date(at).getUTCDay())) days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}
