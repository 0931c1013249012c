/* SPDX-License-Identifier: MIT */
/* Two valid descriptors with values made up, for tests; single quotes stand for double ones. */
#pragma once

#include "base/macros.h"

#define SAMPLE_MANAGED_REVISION "3ff431c5"
#define SAMPLE_MANAGED_DIGEST                                                                      \
        "sha256:bd91d87c7f8ccfbdd2dc32bc98be46d1539a05a276d9694c820ca6ef02e9a7c9"
#define SAMPLE_RAW_REVISION "d926a5a3"
#define SAMPLE_RAW_DIGEST "sha256:262f1dc7018e5e5a80fa61e746a599bd0b4515fcc0c1efb01cc5f3d66624e539"

/* clang-format off */
static const char sample_managed[] UNUSED =
        "{'backend':{'cgroup':{'aggregatePath':'/sys/fs/cgroup/example-ws.slice',"
        "'controllers':['cpu','memory','pids'],"
        "'policyRevision':'managed-rootless-cgroup-v1'},"
        "'filesystem':{'dockerDataPool':{'attestation':'linux-project-quota/v1',"
        "'bytesPerAllocation':8589934592,'count':2},'dockerRootDir':'/srv/example/ws/docker',"
        "'identity':'dev=64:ino=2','limitBytes':34359738368,'mountPath':'/srv/example/ws'},"
        "'kind':'local-systemd','machineIdentity':'machine-sample','owner':{'gid':0,"
        "'uid':0}},'capacity':{'aggregate':{'cpus':12,'memoryBytes':17179869184,"
        "'memorySwapBytes':0,'pids':6144},'cpus':8,'ephemeralDiskBytes':17179869184,"
        "'maxBuilds':1,'maxContainers':2,'memoryBytes':12884901888,'memorySwapBytes':0,"
        "'pids':4096},'policy':{'dockerData':'private-project-quota-allocation/v1',"
        "'hostLoopback':false,'level':'managed-rootless/v1',"
        "'network':{'dns':{'mode':'explicit','servers':['9.9.9.9','1.1.1.1']},"
        "'egress':{'allowedProtocols':['dns','https'],'daemonBridge':'none',"
        "'denyCidrs':['0.0.0.0/8','10.0.0.0/8','100.64.0.0/10','127.0.0.0/8',"
        "'169.254.0.0/16','172.16.0.0/12','192.0.0.0/24','192.0.2.0/24','192.168.0.0/16',"
        "'198.18.0.0/15','198.51.100.0/24','203.0.113.0/24','224.0.0.0/4','240.0.0.0/4',"
        "'::/0'],'denyPrivateNetworks':true,'denySiblingSyntheticEndpoints':true,"
        "'disableHostLoopback':true,'exclusiveNetwork':true,'icc':false,'ipv6':'disabled',"
        "'mode':'rootless-nat','portDriver':'none'},'version':1},"
        "'outerSocketInjection':false,'privilegedTranslation':'rootless-userns',"
        "'tcpDockerEndpoint':false,'writableRoot':'declared-tmpfs-only'},"
        "'profileId':'0f1e2d3c4b5a69788796a5b4c3d2e1f0','schemaVersion':1,"
        "'securityLevel':'managed-rootless/v1','semanticPolicyRevision':'3ff431c5',"
        "'transport':{'controlSocket':{'path':'/run/example/ws/control.sock','peerUid':0,"
        "'protocol':'niceeval-docker-profile-control/v1'},"
        "'dockerSocket':{'path':'/run/example/ws/docker.sock','peerUid':0},"
        "'hostMachineIdentity':'machine-sample','kind':'unix'}}";

static const char sample_raw[] UNUSED =
        "{'backend':{'cgroup':{'aggregatePath':'/sys/fs/cgroup/example-ws.slice',"
        "'controllers':['cpu','memory','pids'],"
        "'policyRevision':'raw-dind-storage-cgroup-v1'},"
        "'filesystem':{'dockerDataPool':{'attestation':'linux-project-quota/v1',"
        "'bytesPerAllocation':8589934592,'count':2},'dockerRootDir':'/srv/example/ws/docker',"
        "'identity':'dev=64:ino=2','limitBytes':34359738368,'mountPath':'/srv/example/ws'},"
        "'kind':'local-systemd','machineIdentity':'machine-sample','owner':{'gid':0,"
        "'uid':0}},'capacity':{'aggregate':{'cpus':12,'memoryBytes':17179869184,"
        "'memorySwapBytes':0,'pids':6144},'cpus':8,'ephemeralDiskBytes':17179869184,"
        "'maxBuilds':1,'maxContainers':2,'memoryBytes':12884901888,'memorySwapBytes':0,"
        "'pids':4096},'policy':{'dockerData':'private-project-quota-allocation/v1',"
        "'level':'raw-dind-storage/v1','privilegedTranslation':'host-daemon'},"
        "'profileId':'a0b1c2d3e4f5061728394a5b6c7d8e9f','schemaVersion':1,"
        "'securityLevel':'raw-dind-storage/v1','semanticPolicyRevision':'d926a5a3',"
        "'transport':{'controlSocket':{'path':'/run/example/ws/control.sock','peerUid':0,"
        "'protocol':'niceeval-docker-profile-control/v1'},"
        "'dockerSocket':{'path':'/run/example/ws/docker.sock','peerUid':0},"
        "'hostMachineIdentity':'machine-sample','kind':'unix'}}";
/* clang-format on */

/* A copy with double quotes; text must fit. */
static inline char *sample_quotes(char *ret, size_t n, const char *text) {
        size_t i = 0;

        for (; text[i]; i++) {
                assert(i + 1 < n);
                ret[i] = text[i] == '\'' ? '"' : text[i];
        }
        ret[i] = 0;
        return ret;
}
