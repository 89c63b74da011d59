/** Lighthouse put together for one load: the gatherers and audits that a lab needs of it, and no others. */

import {basename} from 'node:path';

import {Audit} from 'lighthouse/core/audits/audit.js';
import TotalBlockingTime from 'lighthouse/core/audits/metrics/total-blocking-time.js';
import {NetworkRecords} from 'lighthouse/core/computed/network-records.js';
import {ProcessedNavigation} from 'lighthouse/core/computed/processed-navigation.js';
import {ProcessedTrace} from 'lighthouse/core/computed/processed-trace.js';
import defaultConfig from 'lighthouse/core/config/default-config.js';
import BaseGatherer from 'lighthouse/core/gather/base-gatherer.js';
import Trace from 'lighthouse/core/gather/gatherers/trace.js';
import TraceElements from 'lighthouse/core/gather/gatherers/trace-elements.js';
import * as Lantern from 'lighthouse/core/lib/lantern/lantern.js';
import {TraceProcessor} from 'lighthouse/core/lib/tracehouse/trace-processor.js';
import {Runner} from 'lighthouse/core/runner.js';

import {INSPECTION_ARTIFACTS, INSPECTION_AUDITS} from './inspection.mjs';
import {LoadEnd} from './load-end.mjs';
import {initiatorOf} from './observe/requests.mjs';

/** Lighthouse's performance category; its score is the weighted mean of these. */
const SCORED = defaultConfig.categories.performance.auditRefs.filter(({weight}) => weight > 0).map(({id, weight}) => ({id, weight}));

const TTI = 'interactive';
const TBT = 'total-blocking-time';

const PATHS = new Map(Runner.getAuditList().map(file => file.replace(/\.js$/, '')).map(path => [basename(path), path]));

/** The element of the largest contentful paint, and no other: Lighthouse's own gatherer looks for many more. Its artifact is the HTML. */
class LcpElement extends TraceElements {
  meta = {supportedModes: ['navigation'], dependencies: {Trace: Trace.symbol}};

  startInstrumentation() {}

  stopInstrumentation() {}

  async getArtifact(context) {
    const found = await TraceElements.getLcpElement(context.dependencies.Trace, context);
    const details = found && await this.getNodeDetails(context.driver.defaultSession, found.nodeId);
    return {html: details?.result?.value?.node?.snippet ?? null};
  }
}

/** Audits of observed metrics list source maps among what they need, and have no use for them: none is fetched. */
class NoSourceMaps extends BaseGatherer {
  meta = {supportedModes: ['navigation']};

  getArtifact() {
    return [];
  }
}

/** Passes on what our gatherers found: Lighthouse runs only those that an audit asks for. */
class LoadFacts extends Audit {
  static get meta() {
    return {
      id: 'load-facts', title: 'Facts of the load', description: 'The element of the largest contentful paint, who asked for what, and what failed.',
      scoreDisplayMode: Audit.SCORING_MODES.INFORMATIVE, requiredArtifacts: ['LcpElement', 'DevtoolsLog'],
    };
  }

  static async audit({LcpElement: element, DevtoolsLog: log}, context) {
    const records = await NetworkRecords.request(log, context);
    const requests = records.map(({url, rendererStartTime, initiator, failed, localizedFailDescription}) => {
      const {type, url: by} = initiatorOf(initiator ?? {});
      return {url, rendererStartTime, type: type ?? null, by, failure: failed ? localizedFailDescription || 'failed' : null};
    });
    return {score: 1, details: {type: 'debugdata', lcp_element: element.html, requests}};
  }
}

/**
 * Total Blocking Time where TTI was not waited for: where Lighthouse finds none, long tasks count up to the end of the trace,
 * as they do in its timespan mode. It differs from Lighthouse's only by tasks that come after that end.
 */
class BlockingTimeOfLoad extends TotalBlockingTime {
  static get meta() {
    return {...super.meta, requiredArtifacts: [...super.meta.requiredArtifacts, 'LoadEnd']};
  }

  static async audit(artifacts, context) {
    try {
      return await super.audit(artifacts, context);
    } catch (error) {
      if (!/^NO_TTI_/.test(error.code)) throw error;
    }
    const trace = await ProcessedTrace.request(artifacts.Trace, context);
    const {timings} = await ProcessedNavigation.request(artifacts.Trace, context);
    const tasks = TraceProcessor.getMainThreadTopLevelEvents(trace);
    const blocked_ms = Lantern.Metrics.TBTUtils.calculateSumOfBlockingTime(tasks, timings.firstContentfulPaint, trace.timings.traceEnd);
    const {scoring} = context.options[context.settings.formFactor];
    return {score: Audit.computeLogNormalScore(scoring, blocked_ms), numericValue: blocked_ms, numericUnit: 'millisecond'};
  }
}

/** Whether a job needs the 5 s of quiet of an observed TTI; Lighthouse's model of a slow device does without. */
function needsQuiet({metrics, throttling}) {
  return throttling !== 'simulate' && Object.values(metrics).includes(TTI);
}

/** Lighthouse's configuration for a job. */
export function configOf(job) {
  const asked = [...Object.values(job.metrics), ...(job.inspect ? INSPECTION_AUDITS : [])];
  const ids = new Set([...SCORED.map(({id}) => id), ...asked, 'metrics', 'network-requests']);
  const loadEnd = new LoadEnd(job.max_wait_s * 1000, {forTti: needsQuiet(job)});
  const auditOf = id => (id === TBT ? BlockingTimeOfLoad : PATHS.get(id));
  return {
    artifacts: [
      {id: 'LoadEnd', gatherer: {instance: loadEnd}},
      {id: 'DevtoolsLog', gatherer: 'devtools-log'},
      {id: 'Trace', gatherer: 'trace'},
      {id: 'SourceMaps', gatherer: {instance: new NoSourceMaps()}},
      {id: 'LcpElement', gatherer: {instance: new LcpElement()}},
      ...(job.inspect ? INSPECTION_ARTIFACTS : []),
    ],
    audits: [LoadFacts, ...[...ids].map(auditOf).filter(Boolean)],
    categories: {performance: {title: 'Performance', auditRefs: SCORED}},
    settings: {onlyAudits: ['load-facts', ...ids]},
  };
}
