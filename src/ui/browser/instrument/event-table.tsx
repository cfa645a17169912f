import { Fragment } from "preact";
import type { ActionReport, InstrumentReport } from "../../page-data.js";
import { Missing } from "../fault-box.js";
import { change } from "../formats.js";
import { Table } from "../table.js";
import { text } from "../texts.js";
import { actionText, type EventDay, factorText, lettersOf, witnessText } from "./event-days.js";

/** Dividends, splits and other ex-events of an instrument, the newest first. */
export function EventTable({
  report,
  days,
}: {
  readonly report: InstrumentReport | undefined;
  readonly days: readonly EventDay[];
}) {
  const holes = report?.unvouched ?? [];
  return (
    <section aria-labelledby="events">
      <header>
        <h2 id="events">{text("exEvents")}</h2>
      </header>
      {report !== undefined && holes.length > 0 && (
        <Missing
          why={`${text("holes")} ${holes.map(({ last, day }) => `${last} – ${day}`).join(", ")}.`}
          next={`${text("noDaysHint")} ${report.symbol} --from ${holes[0]?.last}`}
        />
      )}
      {report !== undefined && report.exEvents.length === 0 && holes.length === 0 && (
        <Missing why={text(report.statesPrevClose ? "noEvents" : "noPrevClose")} />
      )}
      {report?.hasEarlier && <p class="quiet">{text("newestEvents")}</p>}
      {days.length > 0 && (
        <Table of="events" kind="events" head={[text("exDate"), text("event"), text("factor")]} numbers={[2]}>
          <tbody>
            {[...days].reverse().map((one) => (
              <tr key={one.day}>
                <td>{one.day}</td>
                <td>
                  <EventLines of={one} />
                </td>
                <td class="n">
                  {one.event === undefined ? "·" : factorText(one.event.factor)}
                  {one.event !== undefined && <small>{change(1 / one.event.factor - 1)}</small>}
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
    </section>
  );
}

export function EventLines({ of }: { readonly of: EventDay }) {
  const { actions } = of;
  const witness = witnessText(of);
  if (actions.length === 0)
    return (
      <span class="action">
        <b class="letter">{lettersOf([of])}</b> {witness}
      </span>
    );
  return (
    <>
      {actions.map((action) => (
        <span class="action" key={`${action.kind} ${action.source}`}>
          <b class="letter">{lettersOf([{ ...of, actions: [action] }])}</b> {actionText(action)}
          <small>
            {factsOf(action).map((fact, at) => (
              <Fragment key={fact}>
                {at > 0 && " · "}
                <span>{fact}</span>
              </Fragment>
            ))}
          </small>
        </span>
      ))}
      {witness !== undefined && <small>{witness}</small>}
    </>
  );
}

function factsOf({ day, exDate, announced, paid, source }: ActionReport): string[] {
  return [
    ...(exDate === day ? [] : [`${text("exDate")} ${exDate}`]),
    ...(announced === null ? [] : [`${text("announced")} ${announced}`]),
    ...(paid === null ? [] : [`${text("paid")} ${paid}`]),
    source,
  ];
}
