package record

import "github.com/agenthistory/ctx/sdkplugin/historyv1"

// ObserveWire is Observe for an event that was not converted yet: it runs on the goroutine that receives the events of a source in
// order, while conversion may run elsewhere. The answer is what Event.Excluded of the converted event must become. Only events that may be
// excluded are converted here.
func (l *Linker) ObserveWire(c *Converter, w *historyv1.Event) (excluded bool) {
	call := w.GetInvocation()
	o := observation{
		callID: w.GetCallId(), output: isOutput(w.GetType()), call: call != nil, result: w.GetResult() != nil, hasBody: w.GetBody() != nil,
		mayRetrieve: call != nil && mayRetrieve(call.GetProtocol(), call.GetServer(), call.GetTool()),
	}
	if len(o.callID) == 0 && !o.output {
		return false
	}
	var id Digest
	excluded = l.observe(&o, func() *Event {
		if err := c.FromWire(w, &l.converted); err != nil || l.converted.Activity == nil {
			return nil
		}
		id = l.converted.ID
		return &l.converted
	})
	return excluded && l.converted.Policy == PolicySelected && !l.denied[id]
}
